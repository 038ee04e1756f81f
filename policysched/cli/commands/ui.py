"""`ui`: show the decisions about a cluster on a page in the browser.

policysched ui
policysched ui --cluster FILE [--policies PATH …] [--metrics FILE] [--now TIME]
policysched ui --cluster FILE, with Clusters and bindings of a Karmada control plane
policysched ui --live [--policies PATH …]
policysched ui --decisions URL --token-file FILE [--ca-file FILE] [--live …]
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from policysched import errors, server_urls
from policysched.cli import fast_exit
from policysched.cli.options import (
    cluster_options,
    decision_options,
    karmada_options,
    offline_options,
)
from policysched.cli.render import output
from policysched.cli.subcommands import ui_sources

if TYPE_CHECKING:
    from policysched.observability.live_page import live_answers
    from policysched.page import page_source
    from policysched.serving import http_server

_ADDRESS = "127.0.0.1:8780"
_OF_CLUSTER = ("policies", "params", "metrics", "now", "scheduler_name")
_ACCESS = (*decision_options.FILES, "insecure_skip_tls_verify")
_DESCRIPTION = """\
Show on a page in the browser which node takes each pod and why not another, why a pod is Pending,
and what would help. For a Karmada control plane, the page shows bindings and member clusters
instead. With --decisions, it follows a running scheduler: its decisions, queues and versions of the
policies. Without options, it shows the embedded cluster of `policysched demo`.
"""
_EPILOG = """\
The command prints one URL, which contains a key: only users with the URL see the page. The page
cannot write to a cluster. Ctrl-C ends the command.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    group = parser.add_argument_group("cluster")
    cluster_options.add_cluster_options(
        group,
        "the output of `kubectl get nodes,pods -A -o json` (or yaml), optionally with "
        "namespaces, services and workloads; or at a Karmada API server of `kubectl get "
        "clusters,resourcebindings,clusterresourcebindings -A -o json`; `-` reads it from stdin",
    )
    offline_options.add_policy_options(group)
    group.add_argument(
        "--metrics",
        metavar="FILE",
        help="values of metrics, as YAML or JSON: `cpu_busy: {node-1: 91%%, node-2: _}`",
    )
    offline_options.add_now_option(group)
    group.add_argument("--scheduler-name", metavar="N", help="use this profile for all pods")
    karmada_options.add_karmada_options(parser)
    running = parser.add_argument_group("running scheduler")
    running.add_argument(
        "--decisions",
        metavar="URL",
        help="the secure port of a running scheduler, such as https://127.0.0.1:10259; --live adds "
        "answers of the engine, from a listing of the cluster",
    )
    decision_options.add_access_options(running)
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        default=_ADDRESS,
        help=f"loopback address to listen on; port 0 chooses a free one (default: {_ADDRESS})",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def run(args: argparse.Namespace) -> int:
    """Serve the page until the process receives SIGTERM or SIGINT."""
    import asyncio  # noqa: PLC0415 - not needed for `--help`

    from policysched import clock as clocks  # noqa: PLC0415 - as above
    from policysched.config import addresses  # noqa: PLC0415 - as above
    from policysched.page import page_server, text_forms  # noqa: PLC0415 - as above

    address = addresses.parse_listen_address(args.address)
    with tempfile.TemporaryDirectory(prefix="policysched-ui-") as folder:
        source, others = _choose_source(args, pathlib.Path(folder))
        server = page_server.PageServer(
            address,
            source,
            text_forms.TextForms(_format_pod, _format_binding, _format_plan, _format_plan_markdown),
            clocks.SystemClock(),
            others=others,
        )

        def announce(url: str) -> None:
            output.write_text(f"the page shows {source.title}; Ctrl-C ends it:\n{url}")
            if args.open:
                _open_in_browser(url, pathlib.Path(folder))

        asyncio.run(server.run(announce))
    return errors.EXIT_OK


def _format_pod(report: dict[str, Any]) -> str:
    """Return the text of `explain pod` without styles."""
    from policysched.cli.render import styles  # noqa: PLC0415 - not needed for `--help`
    from policysched.cli.reports import explain_pod_text  # noqa: PLC0415 - as above

    return styles.remove_style_marks(explain_pod_text.format_pod_explanation(report))


def _format_binding(report: dict[str, Any]) -> str:
    """Return the text of `explain binding` without styles."""
    from policysched.cli.render import styles  # noqa: PLC0415 - not needed for `--help`
    from policysched.cli.reports import explain_binding_text  # noqa: PLC0415 - as above

    return styles.remove_style_marks(explain_binding_text.format_binding_report(report))


def _format_plan(report: dict[str, Any]) -> str:
    """Return the text of `plan` without styles."""
    from policysched.cli.render import styles  # noqa: PLC0415 - not needed for `--help`
    from policysched.cli.reports import plan_text  # noqa: PLC0415 - as above

    return styles.remove_style_marks(plan_text.format_plan_text(report))


def _format_plan_markdown(report: dict[str, Any]) -> str:
    """Return the comment of `plan -o markdown`."""
    from policysched.cli.reports import plan_markdown  # noqa: PLC0415 - not needed for `--help`

    return plan_markdown.format_plan_markdown(report)


def _choose_source(
    args: argparse.Namespace, folder: pathlib.Path
) -> tuple[page_source.PageSource, Mapping[str, http_server.MakePage]]:
    """Return the source, and the pages that a running scheduler answers."""
    if args.decisions is None:
        _refuse_options(args, _ACCESS, "needs a running scheduler; name it with --decisions URL")
        return _make_source(args, folder), {}
    return _follow_scheduler(args, folder)


def _follow_scheduler(
    args: argparse.Namespace, folder: pathlib.Path
) -> tuple[page_source.PageSource, Mapping[str, http_server.MakePage]]:
    """Return the source of a running scheduler, with a listing of its cluster if it is wanted.

    Raises:
        UsageError: the options do not fit.
        InputError: the token or the certificate authorities cannot be read.
    """
    from policysched.observability import debug_client  # noqa: PLC0415 - as for `run`
    from policysched.observability.live_page import live_answers  # noqa: PLC0415 - as above
    from policysched.page import local_access, scheduler_client, scheduler_source  # noqa: PLC0415 - as above

    offline_options.refuse_empty_options(args, "decisions", *decision_options.FILES)
    if not args.decisions.startswith(("http://", "https://")):
        raise errors.UsageError(
            f"--decisions needs the URL of a running scheduler, such as https://127.0.0.1:10259, "
            f"not `{args.decisions}`"
        )
    if args.cluster is not None:
        raise errors.UsageError("--decisions and --cluster are mutually exclusive; give --live")
    asked = debug_client.DebugClient(args.decisions, decision_options.make_credentials(args))
    if args.decisions.rstrip("/") != asked.origin:
        raise errors.UsageError(
            f"--decisions: {server_urls.format_url_for_message(args.decisions)} contains more than "
            f"the address of the scheduler, whose paths are fixed; write {asked.origin}"
        )
    if args.token_file is not None:
        debug_client.read_token(args.token_file)
    has_listing = cluster_options.choose_cluster_source(args) is not None
    if not has_listing:
        _refuse_options(args, _OF_CLUSTER, "needs a listing of the cluster; add --live")
        karmada_options.refuse_karmada_options(args)
    listing = _make_source(args, folder) if has_listing else None
    if listing is not None and listing.get_view().answers.shows != "pods":
        raise errors.UsageError(
            "--decisions follows a scheduler of pods, and the listing is of a Karmada control "
            "plane; choose the cluster of the scheduler with --context, or omit --decisions"
        )
    client = scheduler_client.SchedulerClient(asked, args.token_file)
    fast_exit.keep_until_exit(client)  # the end does not wait for requests that wait for rows
    source = scheduler_source.SchedulerSource(client.origin, listing)
    described = None if listing is None else _describe_listing(listing)
    pages = live_answers.LiveAnswers(client, source.title, listing=described)
    return source, pages.make_pages(local_access.DATA_ROOT)


def _describe_listing(listing: page_source.PageSource) -> live_answers.Listing:
    """Return the policies and the time of a listing that has just been made."""
    from policysched import clock as clocks  # noqa: PLC0415 - not needed for `--help`
    from policysched.observability.live_page import live_answers  # noqa: PLC0415 - as above

    policy_hash = str(listing.get_view().answers.make_status()["hash"])
    return live_answers.Listing(policy_hash, clocks.SystemClock().now().isoformat())


def _make_source(args: argparse.Namespace, folder: pathlib.Path) -> page_source.PageSource:
    """Return the demo, or the cluster that the options name."""
    if cluster_options.choose_cluster_source(args) is not None:
        return ui_sources.make_cluster_source(args)
    _refuse_options(args, _OF_CLUSTER, "needs a cluster; name it with --cluster FILE, or --live")
    karmada_options.refuse_karmada_options(args)
    from policysched.cli.demo import page_demo  # noqa: PLC0415 - not needed for a cluster

    return page_demo.DemoSource(folder)


def _refuse_options(args: argparse.Namespace, names: Sequence[str], problem: str) -> None:
    """Refuse options that have no meaning without another one.

    Raises:
        UsageError: one of the options is given.
    """
    for name in names:
        if getattr(args, name) is not None:
            raise errors.UsageError(f"--{name.replace('_', '-')} {problem}")


def _open_in_browser(url: str, folder: pathlib.Path) -> None:
    """Open a private file that redirects, because other users see the arguments of processes."""
    import html  # noqa: PLC0415 - only `--open` needs it
    import webbrowser  # noqa: PLC0415 - as above

    file = folder / "open.html"
    file.touch(mode=0o600)
    file.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(url)}">\n')
    if not webbrowser.open(file.as_uri()):
        output.print_note_to_stderr("no browser was found; open the URL yourself")
