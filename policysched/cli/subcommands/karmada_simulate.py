"""`karmada simulate`: show the target clusters of the bindings of a control plane.

policysched karmada simulate --cluster FILE|- [--policies PATH] [--metrics FILE] [-o json]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.options import karmada_options, offline_options
from policysched.cli.render import output, progress, styles

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from policysched.offline import binding_simulating

_DESCRIPTION = """\
Show the clusters that each ResourceBinding and ClusterResourceBinding would get if it were
scheduled now, each by itself.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = _DESCRIPTION
    parser.add_argument(
        "--cluster",
        metavar="FILE",
        required=True,
        help="the output of `kubectl get clusters,resourcebindings,clusterresourcebindings -A "
        "-o json` (or yaml) at the Karmada API server; `-` reads it, or JSON lines with "
        "one List on each line, from stdin",
    )
    offline_options.add_policy_options(group := parser.add_argument_group("cluster policies"))
    group.add_argument(
        "--metrics",
        metavar="FILE",
        help="values of metrics, as YAML or JSON: `api_errors: {member1: 2%%, member2: _}`",
    )
    offline_options.add_now_option(group)
    group.add_argument(
        "--scheduler-name", metavar="N", help="use the cluster policies of this profile"
    )
    karmada_options.add_karmada_options(parser)
    output.add_output_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print the target clusters of each binding."""
    from policysched.inputs import karmada_file  # noqa: PLC0415 - slow to import
    from policysched.offline import binding_simulating  # noqa: PLC0415 - slow to import

    loaded = karmada_options.load_cluster_policies(args)
    algorithm = karmada_options.make_binding_algorithm(args, loaded.policies)
    for warning in karmada_options.find_plugin_name_warnings(args):
        output.print_note_to_stderr(warning)
    inputs = karmada_file.read_karmada_control_planes(args.cluster)
    as_json = (args.output or (output.JSON if inputs.is_lines else output.HUMAN)) == output.JSON
    for plane in karmada_options.read_control_planes(inputs, args, loaded):
        with progress.show_progress("placing bindings", len(plane.bindings)) as bar:
            outcomes = list(bar.track_items(binding_simulating.simulate_bindings(algorithm, plane)))
        if as_json:
            output.write_text(output.encode_json([outcome.as_json() for outcome in outcomes]))
        else:
            policies = loaded.policies.in_force if loaded.policies else ()
            files = args.policies or ()
            decided = offline_options.format_policies_in_force(files, policies, loaded.content_hash)
            output.write_report(_format_binding_outcomes(outcomes, decided))
    return errors.EXIT_OK


def _format_binding_outcomes(
    outcomes: Sequence[binding_simulating.SimulatedBinding], decided: str
) -> str:
    """Format a line for each binding, the number of placed bindings, and the policies in force."""
    if not outcomes:
        return "no bindings to schedule"
    placed = sum(outcome.failure is None for outcome in outcomes)
    summary = f"{placed:,} of {output.format_count(len(outcomes), 'binding')} placed"
    style = styles.GOOD if placed == len(outcomes) else styles.BAD
    return "\n".join(
        [_format_outcome_table(outcomes), "", styles.mark_text_style(summary, style), "", decided]
    )


def _format_outcome_table(outcomes: Sequence[binding_simulating.SimulatedBinding]) -> str:
    """Format a row for each binding; its clusterAffinities term is shown if any binding has one."""
    terms = [each.decision.observed_affinity for each in outcomes]
    columns = {
        "BINDING": [each.binding.key for each in outcomes],
        "CLUSTERS": [_format_targets(each) or "-" for each in outcomes],
        "AFFINITY": [term or "-" for term in terms],
        "WHY NOT": [_format_failure_reason(each) for each in outcomes],  # last, it may be long
    }
    if not any(terms):
        del columns["AFFINITY"]
    rows = list(zip(*columns.values(), strict=True))
    bad = [styles.BAD * (each.failure is not None) for each in outcomes]
    return output.format_table(list(columns), rows, "", bad)


def _format_targets(outcome: binding_simulating.SimulatedBinding) -> str:
    return ", ".join(
        f"{each.name}:{each.replicas}" if each.replicas else each.name for each in outcome.targets
    )


def _format_failure_reason(outcome: binding_simulating.SimulatedBinding) -> str:
    return outcome.failure.text if outcome.failure else ""
