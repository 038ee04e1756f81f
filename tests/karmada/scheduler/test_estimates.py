"""Decisions that wait for what estimators of clusters say."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.karmada import errors, objects
from policysched.karmada.scheduler import binding_scheduler
from policysched.karmada.state import estimates
from tests.karmada import twins
from tests.karmada.scheduler import test_scheduling

NONE = estimates.EstimateRequest(objects.BindingSpec(), ())
PLACES = {"m1": 0, "m3": 2}


@pytest.mark.parametrize(
    "answers, expected",
    [
        ({"m1": 4, "m3": 20}, [4, 10, 10]),
        ({"m1": -1, "m3": 0}, [10, 10, 0]),
        ({"m1": -7, "m3": 10}, [-7, 10, 10]),
        ({"m1": 4, "m3": None}, [10, 10, 10]),
        ({"m1": None}, [10, 10, 10]),
        ({"m1": 4, "m2": None, "m3": 5}, [4, 10, 5]),
    ],
    ids=["least", "no-opinion", "negative", "one-silent", "silent-first", "silent-elsewhere"],
)
def test_the_least_counts_unless_one_is_silent(
    answers: dict[str, int | None], expected: list[int]
) -> None:
    """One cluster without an answer takes all answers away, but only one that matters."""
    assert estimates.cap_available_replicas([10, 10, 10], PLACES, answers, NONE) == expected


def test_what_nobody_has_asked_is_a_question() -> None:
    """It names those that have not been asked, of those that matter."""
    with pytest.raises(estimates.EstimatesMissing) as raised:
        estimates.cap_available_replicas([10, 10, 10], PLACES, {"m1": 4}, NONE)
    assert raised.value.question.clusters == ("m3",)


class _World(test_scheduling.World):
    """One that asks estimators."""

    def __init__(self) -> None:
        super().__init__()
        self.decisions = binding_scheduler.BindingScheduler(
            self.how,
            self.handlers,
            self.events,
            self.clock,
            self.decisions.measured,
            asks_estimators=True,
        )

    def one(self, name: str, placement: Any, **spec: Any) -> binding_scheduler.BindingAttempt:
        """Return the first attempt to place a binding."""
        self.binding(name, placement, **spec)
        (attempt,) = self.attempts()
        return attempt


@pytest.fixture
def world() -> _World:
    """One with three clusters that have room for 50 each."""
    made = _World()
    for name in ("m1", "m2", "m3"):
        made.cluster(name, cpu="50")
    return made


def _asked(attempt: binding_scheduler.BindingAttempt) -> tuple[str, ...]:
    return attempt.question.clusters if attempt.question else ()


def _where(attempt: binding_scheduler.BindingAttempt) -> dict[str, int]:
    assert attempt.targets is not None
    return {target.name: target.replicas for target in attempt.targets}


def test_replicas_are_divided_by_answers(world: _World) -> None:
    """Those clusters are asked that passed the filters; nothing is decided before."""
    affinity = {"clusterAffinity": {"clusterNames": ["m1", "m3"]}}
    attempt = world.one("a", affinity | twins.dynamic(), replicas=9)
    assert _asked(attempt) == ("m1", "m3")
    assert attempt.decision is None
    assert attempt.targets is None
    attempt = world.decisions.resume_attempt(attempt, {"m1": 10, "m3": 20})
    assert _asked(attempt) == ()
    assert _where(attempt) == {"m1": 3, "m3": 6}


def test_who_has_no_replicas_asks_nobody(world: _World) -> None:
    """Configuration goes everywhere; what has replicas asks also where it is duplicated."""
    attempt = world.one("config", {}, replicas=0)
    assert _asked(attempt) == ()
    assert _where(attempt).keys() == {"m1", "m2", "m3"}
    assert _asked(world.one("duplicated", {}, replicas=1)) == ("m1", "m2", "m3")


def test_each_term_asks_for_its_own_clusters(world: _World) -> None:
    """A cluster that was asked is not asked again; failures of terms are told once."""
    terms = [
        {"affinityName": "first", "clusterNames": ["m1"]},
        {"affinityName": "second", "clusterNames": ["m1", "m2"]},
    ]
    attempt = world.one("a", {"clusterAffinities": terms} | twins.dynamic(), replicas=9)
    assert _asked(attempt) == ("m1",)
    attempt = world.decisions.resume_attempt(attempt, {"m1": 4})
    assert _asked(attempt) == ("m2",)
    assert world.events.told == []
    attempt = world.decisions.resume_attempt(attempt, {"m2": 8})
    assert _where(attempt) == {"m1": 3, "m2": 6}
    assert len(world.events.told) == 1


def test_it_is_decided_by_what_is_known_when_answers_come(world: _World) -> None:
    """A cluster that has come is asked, too; one that has gone gets nothing."""
    attempt = world.one("a", twins.dynamic(), replicas=6)
    world.cluster("m4", cpu="50")
    gone = world.store.clusters["m1"]
    world.handlers.clusters.delete(gone)
    attempt = world.decisions.resume_attempt(attempt, {"m1": 5, "m2": 5, "m3": 5})
    assert _asked(attempt) == ("m4",)
    attempt = world.decisions.resume_attempt(attempt, {"m4": 5})
    assert _where(attempt) == {"m2": 2, "m3": 2, "m4": 2}


def test_no_room_is_told_as_without_estimators(world: _World) -> None:
    """The text has the sum of what estimators say."""
    attempt = world.one("a", twins.dynamic(), replicas=6)
    attempt = world.decisions.resume_attempt(attempt, {"m1": 1, "m2": 2, "m3": 0})
    assert attempt.decision is not None
    result = attempt.decision.result
    assert isinstance(result, errors.PlacementFailure)
    assert result.kind == "unschedulable"
    assert "Clusters available replicas 3 are not enough" in result.text


def test_others_are_decided_while_one_waits(world: _World) -> None:
    """And what they get counts for who waits: groups are kept apart."""
    one = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    first = world.one("first", one, **test_scheduling.APART)
    second = world.one("second", one, **test_scheduling.APART)
    rooms = {"m1": 9, "m2": 8, "m3": 7}
    second = world.decisions.resume_attempt(second, rooms)
    first = world.decisions.resume_attempt(first, rooms)
    assert _where(second) == {"m1": 2}
    assert _where(first) == {"m2": 2}
