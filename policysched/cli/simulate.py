"""`simulate`: where the pending pods of a cluster file would go.

policysched simulate --cluster FILE [--deterministic | --seed N]

They are scheduled one after the other in queue order, each seeing those before it.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from policysched import errors
from policysched.cli import explain_text, offline_options, output, progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policysched.app import offline, simulating

_CHANGES = ("otherNode", "newlySchedulable", "newlyUnschedulable")
_SHOWN = 10
_BYTES = ("memory", "ephemeral-storage")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    offline_options.add(parser)
    ties = parser.add_mutually_exclusive_group()
    ties.add_argument(
        "--deterministic",
        action="store_true",
        help="break ties by the smallest node name instead of at random",
    )
    ties.add_argument("--seed", type=int, help="break ties at random, the same way every time")


def run(args: argparse.Namespace) -> int:
    """Print the placements."""
    from policysched.app import offline, simulating  # noqa: PLC0415 - `--help` does without NumPy

    with progress.reading("reading the input", [args.cluster]):
        session = offline.Session(offline_options.inputs(args))
    offline_options.tell_warnings(session)
    offline_options.tell_unmeasured(session)
    as_json = (args.output or (output.JSON if session.is_lines else output.HUMAN)) == output.JSON
    rng = None if args.deterministic else random.Random(args.seed)
    for decider in progress.each(session.deciders(rng), "reading the cluster", [args.cluster]):
        with progress.shown("scheduling pods", len(decider.cluster.pending)) as bar:
            placements = list(bar.track(decider.simulate()))
        if as_json:
            report = {"placements": [simulating.as_json(each) for each in placements]}
            output.write(output.as_json(report))
        else:
            output.write(_text(placements, decider))
        offline_options.tell_left_out(decider)
    return errors.EXIT_OK


def _text(placements: list[simulating.Placement], decider: offline.Decider) -> str:
    """Return a line for each pod, why pods stay pending, and what is allocated in the end."""
    if not placements:
        return "no pods to schedule"
    rows = [(each.pod, each.node or "-", f"{each.feasible:,}", _why(each)) for each in placements]
    placed = sum(each.node is not None for each in placements)
    reasons = Counter(", ".join(each.reasons) for each in placements if each.node is None)
    allocated = [_allocation(each) for each in decider.allocations() if each.requested]
    lines = [
        output.table(("POD", "NODE", "FEASIBLE", "WHY NOT"), rows),
        "",
        f"{placed:,} of {output.count(len(placements), 'pod')} placed",
        *(f"  {count:,} pending: {reason}" for reason, count in reasons.most_common()),
        *_shadows(placements),
        "",
        output.table(("RESOURCE", "REQUESTED", "ALLOCATABLE", "SHARE"), allocated),
    ]
    return "\n".join(lines)


def _shadows(placements: list[simulating.Placement]) -> list[str]:
    """Return what each shadow policy would have changed, with some of the pods."""
    verdicts: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for placement in placements:
        for each in placement.shadows:
            verdicts.setdefault(each.policy, []).append((placement.pod, each.as_json()))
    lines = []
    for policy, found in verdicts.items():
        moved = [(pod, said) for pod, said in found if said["outcome"] in _CHANGES]
        head = f"shadow policy {policy}: {len(moved):,} of {output.count(len(found), 'decision')}"
        lines += ["", f"{head} would be different"]
        lines += [f"  {pod}: {explain_text.shadow_text(said)}" for pod, said in moved[:_SHOWN]]
        if len(moved) > _SHOWN:
            lines.append(f"  and {len(moved) - _SHOWN:,} more")
    return lines


def _why(placement: simulating.Placement) -> str:
    if placement.gate is not None:
        return ", ".join(placement.gate.reasons)
    return placement.message


def _allocation(each: simulating.Allocation) -> tuple[str, str, str, str]:
    requested = _amount(each.resource, each.requested)
    allocatable = _amount(each.resource, each.allocatable)
    return each.resource, requested, allocatable, f"{each.requested / each.allocatable:.1%}"


def _amount(resource: str, number: int) -> str:
    """Return cores, Gi or pieces."""
    if resource == "cpu":
        return f"{number / 1000:,.1f}"
    is_bytes = resource in _BYTES or resource.startswith("hugepages-")
    return f"{number / 2**30:,.1f}Gi" if is_bytes else f"{number:,}"
