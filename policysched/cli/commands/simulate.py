"""`simulate`: show the placements of the pending pods of a cluster file.

policysched simulate --cluster FILE [--deterministic | --seed N]

Pods are scheduled one after another in queue order; each decision sees the earlier pods placed.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from policysched import errors
from policysched.cli.options import offline_options, seeds
from policysched.cli.render import output, progress, styles
from policysched.cli.reports import explain_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policysched.offline import allocations, sessions, simulating

_CHANGES = ("otherNode", "newlySchedulable", "newlyUnschedulable")
_SHOWN = 10
_BYTES = ("memory", "ephemeral-storage")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    offline_options.add_offline_options(parser)
    ties = parser.add_mutually_exclusive_group()
    ties.add_argument(
        "--deterministic",
        action="store_true",
        help="break ties by the smallest node name instead of at random",
    )
    seeds.add_seed_option(ties, "break ties at random, reproducibly")


def run(args: argparse.Namespace) -> int:
    """Print the placements."""
    from policysched.offline import sessions, simulating  # noqa: PLC0415 - `--help` does not need NumPy

    with progress.show_reading_progress("reading the input", [args.cluster]):
        session = sessions.OfflineDeciderSource(offline_options.read_configured_inputs(args))
    offline_options.print_session_warnings(session)
    offline_options.print_missing_samples_note(session)
    as_json = (args.output or (output.JSON if session.is_lines else output.HUMAN)) == output.JSON
    seed = _choose_tie_seed(args)
    rng = None if seed is None else random.Random(seed)
    for decider in offline_options.iterate_pod_deciders(session, args, rng):
        with progress.show_progress("scheduling pods", len(decider.cluster.pending)) as bar:
            placements = list(bar.track_items(decider.simulate_placements()))
        deciding = _SimulationProvenance(seed, args.policies or [], decider)
        if as_json:
            listed = [simulating.as_json(each) for each in placements]
            output.write_text(output.encode_json({"placements": listed, **deciding.as_json()}))
        else:
            output.write_report(_format_placements(placements, deciding))
        offline_options.print_unserved_pods_note(decider)
        offline_options.print_extenders_note(decider.count_pods_by_extender())
    return errors.EXIT_OK


def _choose_tie_seed(args: argparse.Namespace) -> int | None:
    """Return the seed for breaking ties, by default a new one; None if node names break ties."""
    if args.deterministic:
        return None
    given: int | None = args.seed
    return seeds.draw_random_seed() if given is None else given


@dataclasses.dataclass(frozen=True)
class _SimulationProvenance:
    """The policies and the seed that led to the placements.

    Attributes:
        seed: the seed for breaking ties; None if the smallest name wins.
        files: the policies as named on the command line.
    """

    seed: int | None
    files: list[str]
    decider: sessions.PodDecider

    def as_json(self) -> dict[str, object]:
        """Return the provenance in the form of schemas/simulate.schema.json."""
        return {
            "seed": self.seed,
            "files": self.files,
            "policies": self.decider.choice.policies,
            "policyHash": self.decider.policy_set.content_hash,
            **self._list_extenders(),
        }

    def _list_extenders(self) -> dict[str, object]:
        """Return the extenders that `run` would ask; without any, nothing."""
        counts = self.decider.count_pods_by_extender()
        listed = [
            {"url": each.name, "verbs": list(each.verbs), "pods": pods}
            for each, pods in counts.items()
        ]
        return {"extenders": listed} if listed else {}

    def format_text(self) -> str:
        """Format the provenance on one line."""
        ties = (
            "by name" if self.seed is None else f"at random, --seed {self.seed} repeats the result"
        )
        decided = offline_options.format_policies_in_force(
            self.files, self.decider.choice.policies, self.decider.policy_set.content_hash
        )
        return f"{decided}; ties are broken {ties}"


def _format_placements(
    placements: list[simulating.SimulatedPlacement], deciding: _SimulationProvenance
) -> str:
    """Format a line for each pod, a summary, and the allocation after all placements."""
    if not placements:
        return "no pods to schedule"
    allocated = [
        _format_allocation(each) for each in deciding.decider.list_allocations() if each.requested
    ]
    lines = [
        _format_placement_table(placements),
        "",
        *_format_placement_summary(placements),
        *_format_shadow_policies(placements),
    ]
    if allocated:
        header = ("RESOURCE", "REQUESTED", "ALLOCATABLE", "SHARE")
        lines += ["", output.format_table(header, allocated)]
    return "\n".join([*lines, "", deciding.format_text()])


def _format_placement_table(placements: list[simulating.SimulatedPlacement]) -> str:
    """Format a row for each pod; the column of evicted pods is omitted if no pod is evicted."""
    columns = {
        "POD": [each.pod for each in placements],
        "NODE": [each.node or "-" for each in placements],
        "FEASIBLE": [f"{each.feasible:,}" for each in placements],
        "EVICTS": [_format_evicted_pods(each) for each in placements],
        "WHY NOT": [
            _format_pending_reason(each) for each in placements
        ],  # last, because it may be long
    }
    if not any(columns["EVICTS"]):
        del columns["EVICTS"]
    rows = list(zip(*columns.values(), strict=True))
    bad = [styles.BAD * (each.node is None) for each in placements]
    return output.format_table(list(columns), rows, "", bad)


def _format_evicted_pods(placement: simulating.SimulatedPlacement) -> str:
    """Return the pods that preemption evicts for a pod, and their node; "" for none."""
    if not placement.victims:
        return ""
    return f"{', '.join(placement.victims)} from {placement.nominated}"


def _format_placement_summary(placements: list[simulating.SimulatedPlacement]) -> list[str]:
    """Format the numbers of placed and evicted pods, and of pending pods for each reason."""
    placed = sum(each.node is not None for each in placements)
    evicted = sum(len(each.victims) for each in placements)
    reasons = Counter(", ".join(each.reasons) for each in placements if each.node is None)
    head = f"{placed:,} of {output.format_count(len(placements), 'pod')} placed"
    head += f", {output.format_count(evicted, 'pod')} evicted to make room" if evicted else ""
    return [
        styles.mark_text_style(head, styles.GOOD if placed == len(placements) else styles.BAD),
        *(f"  {count:,} pending: {reason}" for reason, count in reasons.most_common()),
        *_format_preemption_limits(placements),
    ]


def _format_preemption_limits(placements: list[simulating.SimulatedPlacement]) -> Iterator[str]:
    """Format the number of pending pods for which each rule limits preemption."""
    pending = Counter(limit.rule for each in placements for limit in each.limits)
    for rule, count in pending.most_common():
        yield f"  policy {rule} limits preemption for {output.format_count(count, 'pending pod')}"


def _format_shadow_policies(placements: list[simulating.SimulatedPlacement]) -> list[str]:
    """Format the decisions that each shadow policy would have changed, with some of the pods."""
    verdicts: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for placement in placements:
        for each in placement.shadows:
            verdicts.setdefault(each.policy, []).append((placement.pod, each.as_json()))
    lines = []
    for policy, found in verdicts.items():
        moved = [(pod, said) for pod, said in found if said["outcome"] in _CHANGES]
        decisions = output.format_count(len(found), "decision")
        head = f"shadow policy {policy}: {len(moved):,} of {decisions}"
        lines += ["", f"{head} would be different"]
        lines += [
            f"  {pod}: {explain_text.format_shadow_verdict(said)}" for pod, said in moved[:_SHOWN]
        ]
        if len(moved) > _SHOWN:
            lines.append(f"  and {len(moved) - _SHOWN:,} more")
    return lines


def _format_pending_reason(placement: simulating.SimulatedPlacement) -> str:
    if placement.gate is not None:
        return ", ".join(placement.gate.reasons)
    return placement.message


def _format_allocation(each: allocations.ResourceAllocation) -> tuple[str, str, str, str]:
    requested = _format_resource_amount(each.resource, each.requested)
    allocatable = _format_resource_amount(each.resource, each.allocatable)
    return each.resource, requested, allocatable, f"{each.requested / each.allocatable:.1%}"


def _format_resource_amount(resource: str, number: int) -> str:
    """Format milli-CPU as cores, bytes as Gi, and other amounts as counts."""
    if resource == "cpu":
        return f"{number / 1000:,.1f}"
    is_bytes = resource in _BYTES or resource.startswith("hugepages-")
    return f"{number / 2**30:,.1f}Gi" if is_bytes else f"{number:,}"
