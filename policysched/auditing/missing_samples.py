"""Find metrics that rules in force read, but for which no node has a sample.

The audit does not judge by such rules, and a simulated decision is that of an outage. The scheduler
has samples, so it may reject what the simulation accepts.
"""

from __future__ import annotations

from collections.abc import Iterable

from policysched.cluster import snapshot
from policysched.compiler.rules import reject, score
from policysched.framework import profile

_KINDS = reject.Reject | score.ConditionScore | score.NumberScore


def list_metrics_without_samples(
    profiles: Iterable[profile.Profile], snap: snapshot.Snapshot
) -> list[str]:
    """Return the names of the metrics without a valid sample on any node, sorted."""
    rules = (each for prof in profiles for each in prof.plugins if isinstance(each, _KINDS))
    readers = (reader for rule in rules if rule.told is not None for reader in rule.told.metrics)
    return sorted({each.metric.name for each in readers if each.samples.current(snap).is_out})
