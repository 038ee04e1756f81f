"""Select a few regions with high scores and enough clusters.

Source: Karmada v1.18.2 `pkg/scheduler/core/spreadconstraint/group_clusters.go` (scores) and
`select_groups.go` (combinations of regions).
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Final

from policysched.karmada import objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from policysched.karmada.steps import candidates

_UNIT: Final = 1000
"""Factor of available replicas or fitting clusters in the score of a region. It makes them outweigh
the mean score of clusters, which is at most 100 with Karmada's own plugins."""


@dataclasses.dataclass(frozen=True, slots=True)
class CandidateRegion:
    """The candidates of one region, best first."""

    name: str
    members: Sequence[candidates.CandidateCluster]
    weight: int

    @property
    def sort_key(self) -> tuple[int, str]:
        """The key that sorts the best region first."""
        return (-self.weight, self.name)


def group_by_region(
    found: Sequence[candidates.CandidateCluster],
    spec: objects.BindingSpec,
    placement: objects.Placement,
) -> list[CandidateRegion]:
    """Return the regions of the candidates; clusters without a region are omitted."""
    members: dict[str, list[candidates.CandidateCluster]] = {}
    for candidate in found:
        if candidate.cluster.spec.region:
            members.setdefault(candidate.cluster.spec.region, []).append(candidate)
    return [
        CandidateRegion(name, of, _score_region(of, spec, placement))
        for name, of in members.items()
    ]


def find_spread_constraint(placement: objects.Placement, field: str) -> objects.SpreadConstraint:
    """Return the last constraint on the field, or else a constraint that requires 0 groups."""
    for found in reversed(placement.spread_constraints):
        if found.spread_by_field == field:
            return found
    return objects.SpreadConstraint()


def _score_region(
    members: Sequence[candidates.CandidateCluster],
    spec: objects.BindingSpec,
    placement: objects.Placement,
) -> int:
    """Return the score of a region: its capacity, then the mean score of clusters."""
    if placement.scheduling_type == objects.DUPLICATED:
        fitting = [m.score for m in members if m.available >= spec.replicas]
        return len(fitting) * _UNIT + sum(fitting) // len(fitting) if fitting else 0
    min_regions = find_spread_constraint(placement, "region").min_groups
    min_clusters = max(find_spread_constraint(placement, "cluster").min_groups, min_regions)
    # Karmada divides by zero here, with the result 0; Karmada's webhook rejects 0.
    wanted = math.ceil(spec.replicas / min_regions) if min_regions else 0
    room = score = count = 0
    for member in members:
        room, score, count = room + member.available, score + member.score, count + 1
        if count >= min_clusters and room >= wanted:
            break
    if room < wanted:
        return room * _UNIT + score // len(members)
    return wanted * _UNIT + score // count


def choose_regions(
    regions: Sequence[CandidateRegion], fewest: int, most: int, clusters: int
) -> list[CandidateRegion]:
    """Return the best combination of regions, best region first, or an empty list.

    Args:
        regions: the available regions.
        fewest: minimum number of regions.
        most: maximum number of regions.
        clusters: minimum number of clusters in all regions together.
    """
    ordered = sorted(regions, key=lambda region: (len(region.members), *region.sort_key))
    paths = [
        sorted(path, key=lambda r: r.sort_key)
        for path in _iterate_region_combinations(ordered, fewest, most, clusters)
    ]
    if not paths:
        return []
    paths.sort(key=lambda p: (-sum(r.weight for r in p), -sum(len(r.members) for r in p)))
    best = paths[0]
    for path in paths[1:]:
        # Fewer regions are better if they are the first regions of the best combination.
        if len(path) < len(best) and all(a is b for a, b in zip(path, best, strict=False)):
            best = path
    return best


def _iterate_region_combinations(
    ordered: Sequence[CandidateRegion], fewest: int, most: int, clusters: int
) -> Iterator[tuple[CandidateRegion, ...]]:
    """Yield each sufficient combination without a sufficient prefix, depth first."""
    pending: list[tuple[tuple[CandidateRegion, ...], int, int]] = [((), 0, 0)]
    while pending:
        path, count, begin = pending.pop()
        if count >= clusters and fewest <= len(path) <= most:
            yield path
            continue
        if len(path) >= most:
            continue
        # If all regions are required, only the combination of all of them can suffice.
        end = begin + 1 if len(ordered) == fewest else len(ordered)
        pending.extend(
            ((*path, ordered[i]), count + len(ordered[i].members), i + 1)
            for i in reversed(range(begin, min(end, len(ordered))))
        )
