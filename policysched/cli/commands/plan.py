"""`plan`: show the effects of a policy change on the pods of a cluster, and the rules behind them.

policysched plan --cluster FILE --from OLD --to NEW
policysched plan --cluster FILE --to NEW --sweep POLICY/RULE.weight=0,20,50
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from policysched import clock as clocks
from policysched import errors
from policysched.cli.options import cluster_options, offline_options
from policysched.cli.render import output, progress
from policysched.cli.subcommands import plan_sweep

if TYPE_CHECKING:
    from policysched.inputs import dump_file, metrics_file
    from policysched.planning import two_sided_cluster

_TEXT, _MARKDOWN = "text", "markdown"
_UNSCHEDULABLE = "unschedulable"
_GRAVITY = {
    "never": (),
    _UNSCHEDULABLE: ("unschedulable", "profileRemoved"),
    "moved": ("unschedulable", "profileRemoved", "moved", "victims"),
    "any": (
        "unschedulable",
        "profileRemoved",
        "moved",
        "schedulable",
        "profileAdded",
        "victims",
        "nodes",
        "reason",
    ),
}
_GRAVITY_OF_BINDINGS = {
    "never": (),
    _UNSCHEDULABLE: ("unschedulable", "profileRemoved"),
    "moved": ("unschedulable", "profileRemoved", "clusters", "replicas", "present"),
    "any": (
        "unschedulable",
        "profileRemoved",
        "clusters",
        "replicas",
        "present",
        "schedulable",
        "profileAdded",
        "reason",
    ),
}
_EPILOG = """\
If FILE contains Clusters and bindings of a Karmada control plane, the plan shows the effect on
bindings.

OLD and NEW are a .policy file, a folder of such files, or a ConfigMap manifest; `none` for no
policy; or `git:REVISION:PATH` for a path at a revision of this git repository. `:PATH` is optional
if the other side names a path. Exit code 1 if the outcome that --fail-on names occurs, else 0.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = _EPILOG
    _add_policy_side_options(parser)
    _add_cluster_options(parser)
    plan_sweep.add_sweep_options(parser)
    parser.add_argument(
        "--fail-on",
        choices=tuple(_GRAVITY),
        help="exit with 1 if pods or bindings become unschedulable or lose their profile "
        "(unschedulable, the default), also if they move (moved), or if they differ at all (any)",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=(_TEXT, output.HUMAN, output.WIDE, output.JSON, _MARKDOWN),
        default=_TEXT,
        help="text (the default), wide (tables are not folded to the width of the terminal), "
        "json, or markdown for a comment on a pull request",
    )


def _add_policy_side_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the policies and params of both sides."""
    group = parser.add_argument_group("policies to compare")
    group.add_argument(
        "--from",
        dest="old",
        metavar="OLD",
        action="extend",
        nargs="+",
        help="the current policies (repeatable)",
    )
    group.add_argument(
        "--to",
        dest="new",
        metavar="NEW",
        action="extend",
        nargs="+",
        help="the changed policies (repeatable)",
    )
    for dest, side in (("params", "both sides"), ("from_params", "OLD"), ("to_params", "NEW")):
        group.add_argument(
            f"--{dest.replace('_', '-')}",
            dest=dest,
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help=f"value of a param of {side} (repeatable)",
        )


def _add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the cluster, its metrics, the time and the profile."""
    group = parser.add_argument_group("cluster")
    cluster_options.add_cluster_options(
        group,
        "the output of `kubectl get nodes,pods -A -o json` (or yaml), or at a Karmada API "
        "server of `kubectl get clusters,resourcebindings,clusterresourcebindings -A -o json`; "
        "`-` reads it from stdin",
    )
    group.add_argument("--metrics", metavar="FILE", help="values of metrics, as for `simulate`")
    offline_options.add_now_option(group)
    group.add_argument("--scheduler-name", metavar="N", help="use this profile for all pods")
    group.add_argument(
        "--config",
        metavar="FILE",
        help="configuration of `run`: its profiles, plugins and extenders count on both sides",
    )


def run(args: argparse.Namespace) -> int:
    """Print the plan or the result of a sweep."""
    varied = plan_sweep.read_sweep_axes(args)
    if varied:
        args.old = args.new
    basis, metrics = _read_plan_inputs(args)
    for warning in basis.new.policies.warnings:
        output.write_findings(warning, sys.stderr)
    offline_options.print_unmeasured_metrics_note(basis.find_metrics_without_samples())
    where, dump = _read_cluster(args)
    offline_options.warn_about_unknown_names(
        metrics, "node", [each.name for each in dump.cluster.nodes]
    )
    _print_extenders_note(basis, dump)
    clusters = [each.metadata.name for each in dump.plane.clusters]
    offline_options.warn_about_unknown_names(metrics, "cluster", clusters)
    if varied:
        if dump.plane.clusters and not (dump.cluster.nodes or dump.cluster.pods):
            raise errors.InputError(where, "has no Node and no Pod; --sweep needs them")
        return plan_sweep.run(args, varied, basis, dump.cluster, where)
    report = _make_plan_report(basis, dump, where)
    _write_report(report, args.output)
    fail_on = args.fail_on or _UNSCHEDULABLE
    of_bindings = report.get("bindings", {}).get("summary", {})
    if any(of_bindings.get(each) for each in _GRAVITY_OF_BINDINGS[fail_on]):
        return errors.EXIT_FINDINGS
    graves = _GRAVITY[fail_on]
    is_grave = any(report["summary"][phase][each] for phase in _PHASES for each in graves)
    return errors.EXIT_FINDINGS if is_grave else errors.EXIT_OK


def _print_extenders_note(basis: two_sided_cluster.PlanInputs, dump: dump_file.ObjectDump) -> None:
    from policysched.extenders import interest  # noqa: PLC0415 - not needed for `--help`

    configuration = basis.new.configuration
    if configuration is not None and configuration.extenders:
        counts = interest.count_pods_by_extender(configuration.extenders, dump.cluster.pods)
        offline_options.print_extenders_note(counts)


_PHASES = ("running", "pending")


def _read_plan_inputs(
    args: argparse.Namespace,
) -> tuple[two_sided_cluster.PlanInputs, metrics_file.MetricsFile | None]:
    """Return the inputs from the options about policies, and the file of `--metrics`, if any.

    Raises:
        UsageError: a side is missing, or several inputs are read from standard input.
    """
    import dataclasses  # noqa: PLC0415 - not needed for `--help`

    from policysched.planning import plan_making, sides, two_sided_cluster  # noqa: PLC0415 - as above

    offline_options.refuse_empty_options(args, "metrics", "scheduler_name", "config")
    for dest, option in (("old", "from"), ("new", "to")):
        if not getattr(args, dest):
            raise errors.UsageError(
                f"--{option} is missing: policies, `git:REVISION:PATH` or `none`"
            )
    if [*args.old, *args.new, args.cluster].count("-") > 1:
        raise errors.UsageError("several inputs are `-`; name files for all but one")
    now = args.now or clocks.SystemClock().now()
    old, new = sides.read_plan_sides(
        sides.SideOptions("from", args.old, offline_options.parse_param_values(args.from_params)),
        sides.SideOptions("to", args.new, offline_options.parse_param_values(args.to_params)),
        offline_options.parse_param_values(args.params),
        args.scheduler_name,
        now,
        None if args.config is None else offline_options.read_configuration(args.config),
    )
    basis = two_sided_cluster.PlanInputs(old, new, now, scheduler_name=args.scheduler_name)
    metrics = None
    if args.metrics is not None:
        metrics = plan_making.read_plan_metrics(basis, args.metrics)
        basis = dataclasses.replace(basis, samples=metrics.samples)
    return basis, metrics


def _read_cluster(args: argparse.Namespace) -> tuple[str, dump_file.ObjectDump]:
    """Return the name of the cluster and its objects.

    Raises:
        UsageError: no cluster is named.
        InputError: the input contains no cluster or several clusters.
    """
    from policysched.inputs import dump_file  # noqa: PLC0415 - not needed for `--help`

    named = cluster_options.choose_cluster_source(args)
    if named is None:
        raise errors.UsageError(
            "--cluster is missing: a file, or `-` for stdin; --live reads a running cluster"
        )
    if not isinstance(named, str):
        from policysched.inputs import live_cluster  # noqa: PLC0415 - imports an HTTP client

        server, found = live_cluster.read_live_cluster(named)
        return server, dump_file.ObjectDump(found)
    try:
        with progress.show_reading_progress("reading the cluster", [named]):
            places = dump_file.read_dumps(named).places
            where, dump = next(places)
    except StopIteration:
        raise errors.InputError("<stdin>", "contains no cluster") from None
    if next(places, None) is not None:
        raise errors.InputError("<stdin>", "contains several clusters; a plan needs exactly one")
    return where, dump


def _make_plan_report(
    basis: two_sided_cluster.PlanInputs, dump: dump_file.ObjectDump, where: str
) -> dict[str, Any]:
    """Make the plan, including the bindings of a Karmada control plane, while showing progress."""
    from policysched import process  # noqa: PLC0415 - not needed for `--help`
    from policysched.planning import plan_making, plan_report  # noqa: PLC0415 - as above

    with progress.show_progress("reading") as bar, process.pause_garbage_collection():

        def begin(what: str, total: int) -> Callable[[int], None]:
            bar.begin_part(what, total)
            return bar.advance

        plan = plan_making.make_policy_change_plan(basis, dump.cluster, where, begin)
        told = plan_report.as_json(plan, basis, where)
        if dump.plane.clusters or dump.plane.bindings:
            told["bindings"] = _make_bindings_report(basis, dump, begin)
    return told


def _make_bindings_report(
    basis: two_sided_cluster.PlanInputs,
    dump: dump_file.ObjectDump,
    begin: Callable[[str, int], Callable[[int], None]],
) -> dict[str, Any]:
    """Make the part of the plan about bindings; `begin` starts its progress bar."""
    from policysched.planning import binding_changes, bindings_report  # noqa: PLC0415 - not needed for `--help`

    advance = begin("bindings", len(dump.plane.bindings))
    found = binding_changes.compare_bindings(basis, dump.plane, advance)
    offline_options.print_unmeasured_metrics_note(found.unmeasured, "cluster")
    return bindings_report.as_json(found, basis)


def _write_report(report: dict[str, Any], form: str) -> None:
    from policysched.cli.reports import plan_markdown, plan_text  # noqa: PLC0415 - not needed for `--help`

    if form == output.JSON:
        output.write_text(output.encode_json(report))
    elif form == _MARKDOWN:
        output.write_text(plan_markdown.format_plan_markdown(report))
    else:
        output.write_report(plan_text.format_plan_text(report))
