"""`explain --decisions`: show decisions that a running scheduler has made.

policysched explain --decisions URL|FILE --all
policysched explain --decisions URL|FILE pod NAMESPACE/NAME
"""

from __future__ import annotations

import argparse

from policysched import errors
from policysched.cli.options import decision_options, offline_options
from policysched.cli.render import output
from policysched.cli.reports import decision_text

_CLUSTER = ("cluster", "live", "kubeconfig", "context")
_OFFLINE = (*_CLUSTER, "policies", "params", "metrics", "now", "scheduler_name")
_OF_NODES = ("node", "all_nodes")


def add_decision_options(parser: argparse.ArgumentParser, *, is_again: bool = False) -> None:
    """Add the options; `is_again` is true for a form of a command that already has them."""
    group = parser.add_argument_group("decisions of a running scheduler, instead of --cluster")
    default = argparse.SUPPRESS if is_again else None
    group.add_argument(
        "--decisions",
        metavar="URL|FILE",
        help="the secure port of a running scheduler, such as https://127.0.0.1:10259, or a "
        "file with the content of its page /debug/decisions; `-` for stdin",
        default=default,
    )
    decision_options.add_access_options(group, default)


def run(args: argparse.Namespace) -> int:
    """Print the decisions.

    Raises:
        UsageError: an option cannot be combined with `--decisions`.
        InputError: the decisions cannot be read, or there is no decision about the pod.
    """
    from policysched.observability import decision_source  # noqa: PLC0415 - as for `explain`

    offline_options.refuse_empty_options(args, "decisions", *decision_options.FILES)
    _refuse_offline_options(args)
    pod = _parse_pod_key(args.pod) if args.form == "pod" else None
    access = decision_options.make_credentials(args)
    found = decision_source.read_decisions(args.decisions, pod, access)
    if pod is not None and not found:
        advice = "only the latest decisions are kept: `decisions.kept` of the configuration"
        raise errors.InputError(f"`{pod}`", "no decision about this pod is kept", help=advice)
    if args.output == output.JSON:
        output.write_json_array(found)
    else:
        text = "\n\n".join(map(decision_text.format_decision, found))
        output.write_report(text or "no decisions are kept")
    return errors.EXIT_OK


def _refuse_offline_options(args: argparse.Namespace) -> None:
    for name in (*_OFFLINE, *_OF_NODES):
        if getattr(args, name, None):
            raise errors.UsageError(
                f"--decisions and --{name.replace('_', '-')} are mutually exclusive"
            )


def _parse_pod_key(pod: str) -> str:
    return pod if "/" in pod else f"default/{pod}"
