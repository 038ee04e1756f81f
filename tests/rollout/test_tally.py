"""The results of the attempts of one version in a stage."""

from __future__ import annotations

import pytest

from policysched.rollout import tally

BOUND = tally.JudgedPod(is_unschedulable=False, is_bound=True)
UNSCHEDULABLE = tally.JudgedPod(is_unschedulable=True, is_bound=False)


def _record(counted: tally.VersionTally, *names: str, is_bound: bool = True) -> None:
    for name in names:
        counted.record_attempt(f"uid-{name}", BOUND if is_bound else UNSCHEDULABLE, 0.01, 0)


def test_nothing_is_known_without_pods() -> None:
    """A share of nothing is no number; a guard that reads it waits."""
    counted = tally.VersionTally()
    assert counted.judged == 0
    assert counted.unschedulable_share is None
    assert counted.evictions_per_pod is None
    assert counted.p99_seconds is None


def test_the_last_attempt_of_a_pod_counts() -> None:
    """A pod that waited and was bound later is one pod, and is not unschedulable."""
    counted = tally.VersionTally()
    _record(counted, "a", "b", "c", is_bound=False)
    assert (counted.judged, counted.unschedulable_share) == (3, 1.0)
    _record(counted, "a", "d")
    assert (counted.judged, counted.unschedulable_share) == (4, 0.5)
    _record(counted, "d", is_bound=False)
    assert (counted.judged, counted.unschedulable_share) == (4, 0.75)


def test_victims_of_all_attempts_count() -> None:
    """Two attempts of one pod that evict three pods are three evictions per pod."""
    counted = tally.VersionTally()
    counted.record_attempt("uid-a", UNSCHEDULABLE, 0.01, 2)
    counted.record_attempt("uid-a", BOUND, 0.01, 1)
    assert counted.evictions_per_pod == 3.0
    _record(counted, "b")
    assert counted.evictions_per_pod == 1.5


@pytest.mark.parametrize(
    "attempts, slowest", [(1, 1), (2, 2), (99, 99), (100, 99), (101, 100), (1000, 990)]
)
def test_the_99th_percentile_is_a_rank(attempts: int, slowest: int) -> None:
    """99 % of the attempts take no longer, as few attempts as possible take longer."""
    counted = tally.VersionTally()
    for number in range(attempts, 0, -1):
        counted.record_attempt("uid-a", BOUND, float(number), 0)
    assert counted.p99_seconds == slowest


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest pods are forgotten; the number of judged pods still grows."""
    monkeypatch.setattr(tally, "_PODS_KEPT", 3)
    counted = tally.VersionTally()
    _record(counted, "a", "b", is_bound=False)
    _record(counted, "c", "d", "e")
    assert list(counted.pods) == ["uid-c", "uid-d", "uid-e"]
    assert (counted.judged, counted.unschedulable_share) == (5, 0.0)
    _record(counted, "c")
    assert (counted.judged, len(counted.pods)) == (5, 3)
