"""From what watches tell to what is to be written, without a server."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from policysched import clock as clocks
from policysched.karmada import errors, interface, objects
from policysched.karmada.plugins import registry
from policysched.karmada.scheduler import (
    attempt_outcomes,
    binding_scheduler,
    event_handlers,
    measurements,
    patches,
    triggers,
    work_queue,
)
from policysched.karmada.state import snapshot, store
from policysched.karmada.steps import algorithm
from policysched.kube.http import rate_limit
from tests import builders
from tests.karmada import twins

OURS = twins.OURS
APART: Any = {"workloadAffinityGroups": {"antiAffinityGroup": "x"}}
ONE = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}


@dataclasses.dataclass
class Events:
    """Keeps events."""

    told: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)

    def record(self, binding: objects.Binding, event_type: str, reason: str, note: str) -> None:
        """Keep one."""
        self.told.append((binding.key, event_type, note))


class World:
    """A scheduler whose watches are fed, and whose writes are answered, by hand."""

    def __init__(self, *plugins: interface.ClusterPlugin) -> None:
        """Make one with the built-in plugins, and those of groups, and further ones."""
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.events = Events()
        self.store = store.ControlPlaneStore()
        bucket = rate_limit.TokenBucket(10, 100, self.clock)
        self.queue = work_queue.WorkQueue(self.clock, bucket)
        self.handlers = event_handlers.BindingEventHandlers(self.store, self.queue, OURS)
        built_in = registry.create_selected_plugins(
            registry.make_built_in_factories(with_workload_affinity=True), ["*"]
        )
        measured = measurements.BindingMeasurements(self.clock)
        self.how = algorithm.BindingAlgorithm([*built_in, *plugins], observer=measured)
        self.decisions = binding_scheduler.BindingScheduler(
            self.how, self.handlers, self.events, self.clock, measured
        )

    def cluster(self, name: str, version: int = 1, **spec: Any) -> None:
        """Tell of a cluster."""
        made = twins.cluster(name, **spec)
        made["metadata"]["generation"] = version
        self.handlers.clusters.upsert(msgspec.convert(made, objects.Cluster))

    def binding(self, name: str, placement: Any = None, version: int = 1, **spec: Any) -> None:
        """Tell of a binding, whose generation and resourceVersion are `version`."""
        self.handlers.bindings.upsert(_binding(name, placement or {}, version, **spec))

    def attempts(self) -> list[binding_scheduler.BindingAttempt]:
        """Return all that is to be written now."""
        while self.handlers.process_oldest_cluster_change():
            pass
        found = []
        while (attempt := self.decisions.begin_next_attempt()) is not None:
            found.append(attempt)
        return found

    def names(self) -> list[str]:
        """Return the names of what is looked at now, and end that."""
        attempts = self.attempts()
        for attempt in attempts:
            self.decisions.end_attempt(attempt, is_retried=False)
        return [attempt.binding.metadata.name for attempt in attempts]


def _binding(name: str, placement: Any, version: int = 1, **spec: Any) -> objects.Binding:
    status, meta = spec.pop("status", {}), spec.pop("metadata", {})
    made = twins.binding(name, placement, spec.pop("replicas", 2), **spec)
    made["spec"].setdefault("schedulerName", OURS)
    made["metadata"] |= {"generation": version, "resourceVersion": str(version), "uid": name} | meta
    return msgspec.convert(made | {"status": status}, objects.Binding)


@pytest.fixture
def world() -> World:
    """One with two clusters."""
    made = World()
    made.cluster("m1")
    made.cluster("m2")
    return made


def test_bindings_of_others_are_passed_over(world: World) -> None:
    """Another scheduler's, suspended ones, and those that no policy has made."""
    world.binding("ours")
    world.binding("others", schedulerName="default-scheduler")
    world.binding("suspended", suspension={"scheduling": True})
    world.binding("unlabelled", metadata={"labels": {}})
    assert world.names() == ["ours"]


def test_only_a_new_generation_is_looked_at_again(world: World) -> None:
    """A change of status, labels or annotations is none of ours."""
    world.binding("a", version=1)
    assert world.names() == ["a"]
    world.binding("a", version=1, metadata={"resourceVersion": "7"})
    assert world.names() == []
    world.binding("a", version=2)
    assert world.names() == ["a"]
    assert world.handlers.incoming == {"BindingAdd": 1, "BindingUpdate": 1}


def test_one_that_comes_to_be_ours_is_looked_at(world: World) -> None:
    """The end of a suspension counts as a new binding, though its generation is known."""
    world.binding("a", suspension={"scheduling": True})
    assert world.names() == []
    world.binding("a", version=2)
    assert world.names() == ["a"]


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"labels": {"tier": "gold"}}, ["a"]),
        ({"version": 2, "region": "eu"}, ["a"]),
        ({"cpu": "1"}, []),
    ],
    ids=["labels", "spec", "status"],
)
def test_a_change_of_a_cluster_moves_whom_it_concerns(
    world: World, change: dict[str, Any], expected: list[str]
) -> None:
    """Those whose affinity the cluster matches, before or after; a change of status moves none."""
    world.binding("a", {"clusterAffinity": {"clusterNames": ["m1"]}})
    world.binding("b", {"clusterAffinity": {"clusterNames": ["m2"]}})
    assert world.names() == ["a", "b"]
    world.cluster("m1", **change)
    assert world.names() == expected


def test_a_new_cluster_and_one_that_is_gone_move_nobody(world: World) -> None:
    """As at Karmada, whose controllers do that."""
    world.binding("a")
    world.names()
    world.cluster("m3")
    world.handlers.clusters.delete(world.store.clusters["m2"])
    assert world.names() == []


def test_a_list_tells_what_a_watch_has_missed(world: World) -> None:
    """What is not in it is forgotten, what has another generation is looked at."""
    for name in ("a", "b", "c"):
        world.binding(name)
    world.names()
    world.handlers.bindings.replace(
        [_binding("a", {}, 1), _binding("b", {}, 5), _binding("d", {}, 1)]
    )
    assert world.names() == ["b", "d"]
    assert "default/c" not in world.store.bindings


def test_bindings_with_a_namespace_and_without_are_told_apart(world: World) -> None:
    """A list of ClusterResourceBindings forgets none of the others."""
    world.binding("a")
    everywhere = _binding("a", {}, metadata={"namespace": ""})
    world.handlers.cluster_bindings.replace([everywhere])
    assert set(world.store.bindings) == {"default/a", "a"}
    world.handlers.cluster_bindings.replace([])
    assert set(world.store.bindings) == {"default/a"}


def test_decisions_run_ahead_but_not_for_the_same_binding(world: World) -> None:
    """A second look waits until the first one is written, and sees what was."""
    world.binding("a")
    world.binding("b")
    first, _ = world.attempts()
    world.binding("a", version=2, replicas=3)
    assert world.attempts() == []
    written = _binding("a", {}, 3, replicas=3, clusters=[{"name": "m1", "replicas": 2}])
    world.decisions.note_written_binding(first, written)
    world.decisions.end_attempt(first, is_retried=False)
    (again,) = world.attempts()
    assert again.binding is written


def test_a_watch_that_is_behind_does_not_bring_back_the_past(world: World) -> None:
    """The answer to a write is newer than what the watch tells later."""
    world.binding("a")
    (attempt,) = world.attempts()
    written = _binding("a", {}, 5, clusters=[{"name": "m1", "replicas": 2}])
    world.decisions.note_written_binding(attempt, written)
    world.decisions.end_attempt(attempt, is_retried=False)
    world.binding("a", version=2)
    assert world.store.bindings["default/a"] is written


def test_groups_see_what_is_being_written(world: World) -> None:
    """Two bindings that must not meet do not, though the first is not written yet."""
    for name in ("a", "b", "c"):
        world.binding(name, ONE, **APART)
    attempts = world.attempts()
    targets = [[target.name for target in each.targets or ()] for each in attempts]
    assert targets == [["m1"], ["m2"], []]


def test_a_failed_write_leaves_no_trace_in_groups(world: World) -> None:
    """The cluster is free for others again."""
    world.binding("a", ONE, **APART)
    (attempt,) = world.attempts()
    world.decisions.end_attempt(attempt, is_retried=True)
    world.binding("b", ONE, **APART)
    (other,) = world.attempts()
    assert [target.name for target in other.targets or ()] == ["m1"]


def test_what_failed_comes_again_after_a_pause(world: World) -> None:
    """Not at once, and not for ever if it is not retried."""
    world.binding("a")
    (attempt,) = world.attempts()
    world.decisions.end_attempt(attempt, is_retried=True)
    assert world.attempts() == []
    world.clock.advance(0.01)
    assert len(world.attempts()) == 1
    assert world.handlers.incoming["ScheduleAttemptFailure"] == 1
    assert world.decisions.measured.attempts == {("error", "ReconcileSchedule"): 1}


def test_one_that_is_being_deleted_is_told_of_and_left(world: World) -> None:
    """A warning, as at Karmada."""
    world.binding("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert world.attempts() == []
    note = "skip schedule deleting resourceBinding: default/a"
    assert world.events.told == [("default/a", "Warning", note)]


def test_one_that_was_left_half_written_is_finished(world: World) -> None:
    """Clusters without a status: the process ended between two writes."""
    placement = twins.dynamic()
    placed = _binding(
        "a", placement, 2, clusters=[{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 1}]
    )
    applied = msgspec.json.encode(placed.spec.placement).decode()
    meta = msgspec.structs.replace(
        placed.metadata, annotations={triggers.APPLIED_PLACEMENT: applied}
    )
    world.handlers.bindings.upsert(msgspec.structs.replace(placed, metadata=meta))
    (attempt,) = world.attempts()
    assert attempt.trigger is triggers.ScheduleTrigger.RECONCILE
    assert attempt.targets == placed.spec.clusters


def test_a_binding_that_makes_no_sense_is_told_so_and_not_tried_again(world: World) -> None:
    """Only its author can help."""
    world.binding("a", rescheduleTriggeredAt="yesterday")
    (attempt,) = world.attempts()
    assert attempt.is_hopeless
    assert attempt.targets is None
    assert attempt.decision is not None
    world.decisions.record_outcome_event(
        attempt, attempt_outcomes.derive_attempt_outcome(attempt.decision.result)
    )
    assert "`yesterday` is not a time" in world.events.told[0][2]


def test_a_cluster_that_makes_no_sense_stays_as_it_was(world: World) -> None:
    """Else its workloads would be moved away."""
    before = world.store.clusters["m1"]
    world.cluster("m1", cpu="much")
    assert world.store.clusters["m1"] is before


def test_a_plugin_that_raises_fails_one_binding(world: World) -> None:
    """The others go on."""

    class Raising:
        name = "Raising"

        def filter(
            self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
        ) -> list[str]:
            if request.binding.metadata.name == "a":
                raise KeyError("x")
            return [interface.PASSES] * len(clusters.clusters)

    world = World(Raising())
    world.cluster("m1")
    world.binding("a")
    world.binding("b")
    failed, placed = world.attempts()
    assert failed.decision is not None
    assert failed.decision.result == errors.PlacementFailure(
        "other", "plugin `Raising` failed at Filter: KeyError: 'x'"
    )
    assert placed.targets


def test_starting_over_looks_at_everything_again(world: World) -> None:
    """Whatever was known: another process may have written meanwhile."""
    world.binding("a")
    world.binding("others", schedulerName="x")
    world.names()
    world.decisions.requeue_all_bindings()
    assert world.names() == ["a"]


def test_a_process_that_stands_by_gathers_nothing(world: World) -> None:
    """Its term begins with all that there is then, which is counted as it is by Karmada."""
    world.decisions.stop_queueing()
    world.binding("a")
    world.binding("gone")
    world.handlers.bindings.delete(_binding("gone", {}))
    world.cluster("m1", version=2)
    assert (len(world.queue), world.queue.delayed_count) == (0, 0)
    assert not world.handlers.process_oldest_cluster_change()
    world.decisions.requeue_all_bindings()
    assert world.names() == ["a"]
    assert world.handlers.incoming == {"BindingAdd": 1}
    world.cluster("m1", version=3)
    assert world.names() == ["a"]


def test_a_successor_between_two_lists_is_looked_at(world: World) -> None:
    """Another object of the same name and generation, whose predecessor nobody saw go."""
    world.binding("a")
    assert world.names() == ["a"]
    world.handlers.bindings.replace([_binding("a", {}, metadata={"uid": "another"})])
    assert world.names() == ["a"]


def test_a_late_answer_says_nothing_of_a_successor(world: World) -> None:
    """The watch has shown a new object of that name before the write of the old one ended."""
    world.binding("a", version=5)
    (attempt,) = world.attempts()
    world.handlers.bindings.delete(attempt.binding)
    world.binding("a", version=7, replicas=3, metadata={"uid": "another"})
    world.decisions.note_written_binding(attempt, _binding("a", {}, version=6))
    world.decisions.end_attempt(attempt, is_retried=False)
    (attempt,) = world.attempts()
    assert (attempt.binding.metadata.uid, attempt.binding.spec.replicas) == ("another", 3)


_SUCCESS = {
    "type": "Scheduled",
    "status": "True",
    "reason": "Success",
    "message": "Binding has been scheduled successfully.",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def _placed(**status: Any) -> objects.Binding:
    """Return a Duplicated binding that is where it should be, and says so."""
    told = {
        "schedulerObservedGeneration": 2,
        "lastScheduledTime": "2026-01-01T00:00:00Z",
        "conditions": [_SUCCESS],
    }
    targets = [{"name": name, "replicas": 2} for name in ("m1", "m2")]
    made = _binding("a", {}, 2, clusters=targets, status=told | status)
    meta = msgspec.structs.replace(made.metadata, annotations={triggers.APPLIED_PLACEMENT: "{}"})
    return msgspec.structs.replace(made, metadata=meta)


@pytest.mark.parametrize(
    "status, is_news",
    [
        ({}, False),
        ({"schedulerObservedGeneration": 1}, True),
        ({"conditions": []}, True),
        ({"conditions": [_SUCCESS | {"status": "False"}]}, True),
        ({"lastScheduledTime": None}, True),
    ],
    ids=["all-said", "other-generation", "no-condition", "failed-before", "no-time"],
)
def test_what_is_so_and_says_so_is_not_written(
    world: World, status: dict[str, Any], is_news: bool
) -> None:
    """A restart writes nothing about bindings that are where they should be."""
    world.handlers.bindings.upsert(_placed(**{k: v for k, v in status.items() if v is not None}))
    if status.get("lastScheduledTime", "") is None:
        binding = world.store.bindings["default/a"]
        bare = msgspec.structs.replace(binding.status, last_scheduled_time=None)
        world.store.replace_binding(msgspec.structs.replace(binding, status=bare))
    (attempt,) = world.attempts()
    assert world.decisions.needs_write_or_event(attempt) is is_news


_NOW = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "generation, replicas, expected",
    [(2, 2, 2), (3, 2, 1), (2, 3, 1)],
    ids=["our-write", "and-another", "another-of-replicas"],
)
def test_only_a_generation_that_was_decided_about_is_confirmed(
    world: World, generation: int, replicas: int, expected: int
) -> None:
    """What others have changed between read and write has not been looked at."""
    world.binding("a")
    assert _confirmed(world, generation, replicas=replicas) == expected


@pytest.mark.parametrize("is_tainted, expected", [(False, 2), (True, 1)], ids=["stays", "fails"])
def test_a_write_is_not_confirmed_that_the_next_look_undoes(
    world: World, is_tainted: bool, expected: int
) -> None:
    """A binding may stay on a tainted cluster, and cannot come back once it has left it."""
    taint = {"key": "maintenance", "effect": "NoSchedule"}
    world.cluster("m1", version=2, taints=[taint] if is_tainted else [])
    two = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]}
    none: Any = {"replicas": 0, "replicaRequirements": {"resourceRequest": {"cpu": "1"}}}
    world.binding("a", two, clusters=[{"name": "m1", "replicas": 2}], **none)
    assert _confirmed(world, 2) == expected


def _confirmed(world: World, generation: int, **spec: Any) -> int:
    """Return the generation that the status confirms once the clusters of `a` are written."""
    (attempt,) = world.attempts()
    read = attempt.binding
    assert attempt.targets is not None
    newest = msgspec.structs.replace(
        read,
        metadata=msgspec.structs.replace(read.metadata, generation=generation),
        spec=msgspec.structs.replace(read.spec, clusters=attempt.targets, **spec),
    )
    said = patches.make_scheduled_condition(attempt.targets)
    confirmed = world.decisions.find_generation_to_confirm(attempt, newest, _NOW)
    patch = patches.make_condition_patch(read, said, _NOW, newest, generation=confirmed)
    return int(patch["status"]["schedulerObservedGeneration"])
