"""`explain`: show why pods do or do not fit on nodes, and what diagnostic codes mean.

policysched explain --cluster FILE --all
policysched explain --cluster FILE [pod] NAMESPACE/NAME [--node NODE | --all-nodes]
policysched explain --kubeconfig FILE pod NAMESPACE/NAME
policysched explain --decisions URL|FILE --all, or pod NAMESPACE/NAME
policysched explain --cluster FILE binding [NAMESPACE/]NAME
policysched explain rule CODE
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors, spelling
from policysched.cli import fast_exit
from policysched.cli.options import explain_forms, offline_options
from policysched.cli.render import output, progress
from policysched.cli.reports import explain_pod_text, explain_text
from policysched.cli.subcommands import explain_binding, explain_decisions

if TYPE_CHECKING:
    from policysched.offline import sessions


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options and the forms `pod`, `binding` and `rule`."""
    offline_options.add_offline_options(parser, takes_several=False)
    explain_decisions.add_decision_options(parser)
    parser.add_argument("--all", action="store_true", help="explain each pending pod separately")
    _add_node_options(parser)
    forms = parser.add_subparsers(
        title="forms",
        description="NAMESPACE/NAME is short for `pod NAMESPACE/NAME`",
        metavar="FORM",
        dest="form",
        action=explain_forms.ExplainFormAction,
    )
    pod = forms.add_parser("pod", help="one pod, as if it were pending")
    pod.add_argument("pod", metavar="NAMESPACE/NAME")
    _add_node_options(pod, is_again=True)
    offline_options.add_offline_options(pod, is_again=True, takes_several=False)
    explain_decisions.add_decision_options(pod, is_again=True)
    binding = forms.add_parser("binding", help="one binding of a Karmada control plane")
    offline_options.add_offline_options(binding, is_again=True, takes_several=False)
    explain_binding.configure(binding)
    rule = forms.add_parser("rule", help="the meaning of a diagnostic code")
    rule.add_argument("code", metavar="CODE", help="a code such as PS304")
    forms.choices = explain_forms.AnyWordParsers(forms.choices)


def _add_node_options(parser: argparse.ArgumentParser, *, is_again: bool = False) -> None:
    """Add the options that select nodes for one pod; they can be given before or after its name."""
    parser.add_argument(
        "--node",
        metavar="NODE",
        default=argparse.SUPPRESS if is_again else None,
        help="show all details of this node, for one pod",
    )
    parser.add_argument(
        "--all-nodes",
        action="store_true",
        default=argparse.SUPPRESS if is_again else False,
        help="show a line for each node of the cluster, for one pod",
    )


def run(args: argparse.Namespace) -> int:
    """Print the explanation."""
    if args.form != "pod" and (args.node or args.all_nodes):
        option = "--node" if args.node else "--all-nodes"
        raise errors.UsageError(f"{option} needs one pod; name it as NAMESPACE/NAME")
    if args.form == "rule":
        return _print_diagnostic_page(args.code)
    if args.form == "binding":
        return explain_binding.run(args)
    if args.form == "pod" and args.all:
        raise errors.UsageError("--all and `pod` are mutually exclusive")
    if args.form == "pod" and args.node and args.all_nodes:
        raise errors.UsageError("--node and --all-nodes are mutually exclusive")
    if args.form != "pod" and not args.all:
        raise errors.UsageError("no pod is named; give --all, or NAMESPACE/NAME")
    if args.decisions is not None:
        return explain_decisions.run(args)
    from policysched.offline import sessions  # noqa: PLC0415 - `--help` does not need NumPy

    with progress.show_reading_progress("reading the input", [args.cluster]):
        session = sessions.OfflineDeciderSource(offline_options.read_configured_inputs(args))
    offline_options.print_session_warnings(session)
    as_json = (args.output or (output.JSON if session.is_lines else output.HUMAN)) == output.JSON
    for decider in offline_options.iterate_pod_deciders(session, args):
        if not session.is_lines:
            fast_exit.keep_until_exit(decider)
        total = len(decider.cluster.pending) if args.all else None
        with progress.show_progress("explaining pods", total, unless_printing=True) as bar:
            reports = bar.track_items(_make_reports(decider, args, as_json=as_json))
            _write_reports(reports, args, as_json=as_json, is_lines=session.is_lines)
        offline_options.print_unserved_pods_note(decider)
    return errors.EXIT_OK


def _write_reports(
    reports: Iterator[explain_text.Report],
    args: argparse.Namespace,
    *,
    as_json: bool,
    is_lines: bool,
) -> None:
    """Print reports as they are made; for JSON lines, all reports of a cluster are on one line."""
    if not as_json:
        _write_texts(reports, args)
        return
    reports = (_limit_report_to_node(report, _get_node_argument(args)) for report in reports)
    if is_lines:
        output.write_text(output.encode_json(list(reports)))
    else:
        output.write_json_array(reports)


def _make_reports(
    decider: sessions.PodDecider, args: argparse.Namespace, *, as_json: bool
) -> Iterator[explain_text.Report]:
    """Yield the report about the named pod, or a report about each pending pod.

    Raises:
        InputError: the pod or the node named by `--node` does not exist.
    """
    evidence_of = _choose_evidence_nodes(args, as_json=as_json)
    if args.form != "pod":
        yield from decider.explain_pending_pods(evidence_of)
        return
    from policysched.explaining import pod_explaining  # noqa: PLC0415 - only this form needs it

    names = [name for name in decider.cluster.cache.nodes.names if name]
    if args.node is not None and decider.cluster.cache.get_node(args.node) is None:
        advice = spelling.suggest_names(args.node, names)
        raise errors.InputError(f"`{args.node}`", "the cluster has no such node", help=advice)
    yield pod_explaining.explain_pod(
        decider, args.pod, clocks.SystemClock(), node=args.node, evidence_of=evidence_of
    )


def _choose_evidence_nodes(args: argparse.Namespace, *, as_json: bool) -> tuple[str, ...] | None:
    """Return the nodes for which evidence is printed; None means all nodes."""
    node = _get_node_argument(args)
    if node is not None:
        return (node,)
    return None if as_json else ()


def _limit_report_to_node(report: explain_text.Report, node: str | None) -> explain_text.Report:
    """Return the part of the report about one node; the whole report if `node` is None."""
    if node is None:
        return report
    nodes = {node: report["nodes"][node]}
    scores = {name: points for name, points in report["scores"].items() if name == node}
    return {**report, "nodes": nodes, "scores": scores}


def _get_node_argument(args: argparse.Namespace) -> str | None:
    return args.node if args.form == "pod" else None


def _write_texts(reports: Iterator[explain_text.Report], args: argparse.Namespace) -> None:
    count = 0
    for report in reports:
        if count:
            output.write_text("")
        output.write_report(_format_report(report, args))
        count += 1
    if not count:
        output.write_text("no pods to explain")


def _format_report(report: explain_text.Report, args: argparse.Namespace) -> str:
    if args.form != "pod":
        return explain_text.format_pod_report(report)
    if args.node:
        return explain_pod_text.format_node_explanation(report, args.node)
    return explain_pod_text.format_pod_explanation(report, all_nodes=args.all_nodes)


def _print_diagnostic_page(code: str) -> int:
    """Print the documentation page of a diagnostic code."""
    from policysched.lang.diagnostics import diagnostic_pages, diagnostics  # noqa: PLC0415 - only this form needs it

    name = code.upper()
    known = diagnostics.CODES | diagnostics.LINT_CODES
    if name not in known:
        advice = spelling.suggest_names(name, known) or "write a code such as PS304"
        raise errors.InputError(f"`{code}`", "is not a diagnostic code", help=advice)
    output.write_report(diagnostic_pages.read_diagnostic_code_page(name).removeprefix("# "))
    return errors.EXIT_OK
