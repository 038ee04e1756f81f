"""`explain binding`: show the target clusters of Karmada bindings, with the reasons.

policysched explain binding [NAMESPACE/]NAME --cluster FILE|- [--policies PATH] [--metrics FILE]
policysched explain binding [NAMESPACE/]NAME --kubeconfig FILE
policysched explain binding --all --cluster FILE|-
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli import fast_exit
from policysched.cli.options import cluster_options, karmada_options
from policysched.cli.render import output, progress
from policysched.cli.reports import explain_binding_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from policysched.inputs import karmada_file, object_lists

_DESCRIPTION = """\
Show how a ResourceBinding or ClusterResourceBinding of a Karmada control plane would be scheduled
now: the result of each filter and score, also of cluster policies, for each cluster, the chosen
clusters, and the division of replicas. --cluster is the output of `kubectl get
clusters,resourcebindings,clusterresourcebindings -A -o json` at the Karmada API server.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this form that `explain` itself does not have."""
    parser.description = _DESCRIPTION
    parser.add_argument(
        "binding",
        metavar="[NAMESPACE/]NAME",
        nargs="?",
        help="without a namespace: a ClusterResourceBinding, or one in `default`",
    )
    parser.add_argument(
        "--all", dest="all_bindings", action="store_true", help="explain each binding separately"
    )
    karmada_options.add_karmada_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the explanation."""
    if args.all:
        raise errors.UsageError(
            "--all before `binding` means all pods; write `explain binding --all`"
        )
    if args.decisions is not None:
        raise errors.UsageError(
            "--decisions has records of pods only; explain a binding with --cluster"
        )
    if bool(args.binding) == args.all_bindings:
        raise errors.UsageError(
            "no binding is named; write `binding [NAMESPACE/]NAME`, or `binding --all`"
        )
    inputs = _read_control_planes(args)
    loaded = karmada_options.load_cluster_policies(args)
    algorithm = karmada_options.make_binding_algorithm(args, loaded.policies)
    for warning in karmada_options.find_plugin_name_warnings(args):
        output.print_note_to_stderr(warning)
    from policysched.karmada.state import snapshot  # noqa: PLC0415 - `--help` does not need NumPy
    from policysched.offline import binding_explaining  # noqa: PLC0415 - as above

    as_json = (args.output or (output.JSON if inputs.is_lines else output.HUMAN)) == output.JSON
    for plane in karmada_options.read_control_planes(inputs, args, loaded):
        if not inputs.is_lines:
            fast_exit.keep_until_exit(plane)
        clusters = snapshot.make_snapshot(plane.clusters, plane.bindings)
        wanted = (
            plane.bindings
            if args.all_bindings
            else [binding_explaining.find_binding(plane, args.binding)]
        )
        with progress.show_progress(
            "explaining bindings", len(wanted), unless_printing=True
        ) as bar:
            reports = bar.track_items(
                binding_explaining.make_binding_report(algorithm, each, clusters) for each in wanted
            )
            _write_reports(reports, as_json=as_json, is_lines=inputs.is_lines)
    return errors.EXIT_OK


def _read_control_planes(
    args: argparse.Namespace,
) -> object_lists.InputLists[karmada_file.KarmadaControlPlane]:
    """Return the control planes from the options.

    Raises:
        UsageError: no control plane is named.
        InputError: the input contains no control plane.
    """
    from policysched.inputs import karmada_file, object_lists  # noqa: PLC0415 - `--help` does not need NumPy

    named = cluster_options.choose_cluster_source(args)
    if named is None:
        raise errors.UsageError(
            "--cluster is missing: a file, or `-` for stdin; --live reads a running control plane"
        )
    if isinstance(named, str):
        return karmada_file.read_karmada_control_planes(named)
    from policysched.inputs import live_karmada  # noqa: PLC0415 - imports an HTTP client

    return object_lists.InputLists(iter([live_karmada.read_live_karmada_control_plane(named)]))


def _write_reports(
    reports: Iterator[explain_binding_text.Report], *, as_json: bool, is_lines: bool
) -> None:
    """Print reports as they are made; for JSON lines, those of a control plane are on one line."""
    if as_json and is_lines:
        output.write_text(output.encode_json(list(reports)))
    elif as_json:
        output.write_json_array(reports)
    else:
        _print_reports_as_text(reports)


def _print_reports_as_text(reports: Iterator[explain_binding_text.Report]) -> None:
    count = 0
    for report in reports:
        if count:
            output.write_text("")
        output.write_report(explain_binding_text.format_binding_report(report))
        count += 1
    if not count:
        output.write_text("no bindings to explain")
