"""Where pods wait and what moves them; facts are those of kube-scheduler 1.36."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from policysched import errors
from policysched.cluster.pods import pod_shape
from policysched.framework import events, queued_pod
from policysched.queue import scheduling_queue
from tests import builders
from tests.queue import fakes

LATE_POP = scheduling_queue.QueueSettings(pops_from_backoff=False)


class TestOrder:
    """activeQ."""

    def test_priority_then_arrival(self) -> None:
        """Pods of higher priority go first, equal ones in the order in which they came."""
        bench = fakes.Bench()
        bench.add("a", "b")
        bench.clock.advance(1)
        bench.add("c", builders.make_pod("vip").priority(5))
        assert bench.pop_all() == ["vip", "a", "b", "c"]

    def test_a_retried_pod_goes_behind_those_that_came_meanwhile(self) -> None:
        """The time of the last attempt counts, not the age of the pod."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt("Fit")
        bench.clock.advance(1)
        bench.add("b")
        bench.clock.advance(1)
        bench.move(fakes.NODE_ADD)
        assert bench.where("a") == "active"
        bench.clock.advance(1)
        bench.add("c")
        assert bench.pop_all() == ["a", "b", "c"]

    def test_an_update_keeps_the_place(self) -> None:
        """A changed pod is scheduled in its newest version, without losing its turn."""
        bench = fakes.Bench()
        bench.add("a", "b")
        new = fakes.info(builders.make_pod("a").labels(x="y"))
        bench.queue.update(fakes.info("a"), new, ())
        first = bench.queue.pop()
        assert first is not None
        assert first.info is new
        assert bench.pop_all() == ["b"]


class TestBackoff:
    """backoffQ."""

    @pytest.mark.parametrize(
        "attempts, until_seconds",
        [
            pytest.param(1, 2.0, id="1 s, to the end of the window"),
            pytest.param(2, 3.0, id="2 s"),
            pytest.param(3, 5.0, id="4 s"),
            pytest.param(4, 9.0, id="8 s"),
            pytest.param(5, 11.0, id="10 s"),
            pytest.param(99, 11.0, id="never more"),
        ],
    )
    def test_doubles_up_to_ten_seconds(self, attempts: int, until_seconds: float) -> None:
        """Each rejection doubles the backoff, which ends at a whole second."""
        bench = fakes.Bench()
        bench.add("a")
        for _ in range(attempts):
            queued = bench.queue.pop()
            assert queued is not None
            bench.fail(queued, "Fit")
            bench.queue.activate([queued.uid])
        queued = bench.queue.pop()
        assert queued is not None
        assert queued.backoff_until_seconds == until_seconds

    def test_errors_in_a_row_count_apart(self) -> None:
        """An error begins a backoff of its own; a rejection ends the row and goes on counting."""
        bench = fakes.Bench(settings=LATE_POP)
        bench.add("a")
        ends = []
        for rejectors in (["Fit"], ["Fit"], [], [], ["Fit"]):
            queued = bench.queue.pop()
            assert queued is not None
            bench.fail(queued, *rejectors)
            ends.append(queued.backoff_until_seconds - bench.clock.monotonic_seconds())
            bench.queue.activate([queued.uid])
        assert ends == [2.0, 3.0, 2.0, 3.0, 5.0]

    def test_a_pod_that_met_an_error_waits_its_backoff(self) -> None:
        """It is not popped early, and comes back by itself when its backoff is over."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt()
        assert bench.pop() is None
        assert bench.queue.next_timer_seconds() == 2.0
        bench.advance(1.9)
        assert bench.pop() is None
        bench.advance(0.1)
        assert bench.pop() == "a"

    def test_a_rejected_pod_is_popped_early_when_the_scheduler_is_idle(self) -> None:
        """Backoff spares the scheduler; it means nothing when activeQ is empty (KEP-5142)."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt("Fit")
        bench.move(fakes.NODE_ADD)
        assert bench.where("a") == "backoff"
        bench.add("b")
        assert bench.pop_all() == ["b", "a"]

    def test_without_early_pops_backoff_is_served(self) -> None:
        """With the feature off, as before 1.33, a pod waits to the end."""
        bench = fakes.Bench(settings=LATE_POP)
        bench.add("a")
        bench.attempt("Fit")
        bench.move(fakes.NODE_ADD)
        assert bench.pop() is None
        bench.advance(2)
        assert bench.pop() == "a"

    def test_pods_of_one_window_leave_by_priority(self) -> None:
        """Backoffs that end in the same second end together, in activeQ's order."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt("Fit")
        bench.clock.advance(0.5)
        bench.add(builders.make_pod("vip").priority(5))
        bench.attempt("Fit")
        bench.move(fakes.NODE_ADD)
        assert bench.pop_all() == ["vip", "a"]

    def test_a_pod_whose_backoff_is_over_skips_backoffq(self) -> None:
        """Backoff runs while a pod waits for its event."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt("Fit")
        bench.clock.advance(2)
        bench.move(fakes.NODE_ADD)
        assert bench.where("a") == "active"


class TestEvents:
    """Which event moves which pod."""

    @pytest.mark.parametrize(
        "rejectors, event, moves",
        [
            pytest.param(["Fit"], fakes.NODE_ADD, True, id="what its plugin waits for"),
            pytest.param(["Fit"], fakes.NODE_LABEL, False, id="what another plugin waits for"),
            pytest.param(["Fit", "Affinity"], fakes.NODE_LABEL, True, id="one of two rejectors"),
            pytest.param(["Unknown"], fakes.NODE_ADD, False, id="a plugin without registrations"),
            pytest.param(["Unknown"], events.FORCE_ACTIVATE, True, id="forced"),
        ],
    )
    def test_only_rejectors_are_asked(
        self, rejectors: list[str], event: events.ClusterEvent, moves: bool
    ) -> None:
        """An event moves the pods whose rejecting plugin registered it, no others."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt(*rejectors)
        wakes = bench.wakes
        bench.move(event)
        assert bench.where("a") == ("backoff" if moves else "unschedulable")
        assert bench.wakes == wakes + moves

    def test_a_hint_looks_closer(self) -> None:
        """A plugin that says SKIP to an event leaves the pod where it is."""

        def only_n2(
            pod: object, old: events.ClusterObject, new: events.ClusterObject
        ) -> events.QueueingHint:
            helps = getattr(new, "name", "") == "n2"
            return events.QueueingHint.QUEUE if helps else events.QueueingHint.SKIP

        bench = fakes.Bench(
            fakes.FakeProfile({"Fit": fakes.waits_for(fakes.NODE_ADD, hint=only_n2)})
        )
        bench.add("a")
        bench.attempt("Fit")
        for _ in range(100):
            bench.move(fakes.NODE_ADD, new=builders.make_node("n1").build())
        assert bench.where("a") == "unschedulable"
        bench.move(fakes.NODE_ADD, new=builders.make_node("n2").build())
        assert bench.where("a") == "backoff"

    @pytest.mark.parametrize("asks, place", [(True, "unschedulable"), (False, "backoff")])
    def test_with_hints_off_every_registered_event_is_worth_an_attempt(
        self, asks: bool, place: str
    ) -> None:
        """A hint that says SKIP counts only while hints are asked; other events never help."""
        skipping = fakes.waits_for(fakes.NODE_ADD, hint=lambda *_: events.QueueingHint.SKIP)
        bench = fakes.Bench(
            fakes.FakeProfile({"Fit": skipping}),
            settings=scheduling_queue.QueueSettings(asks_hints=asks),
        )
        bench.add("a")
        bench.attempt("Fit")
        bench.move(fakes.POD_DELETE)
        assert bench.where("a") == "unschedulable"
        bench.move(fakes.NODE_ADD)
        assert bench.where("a") == place

    def test_equal_pods_are_judged_together(self) -> None:
        """However many pods of a workload wait, a plugin is asked once about an event."""
        asked: list[str] = []

        def skip(pod: pod_shape.PodInfo, *_: object) -> events.QueueingHint:
            asked.append(pod.pod.metadata.name)
            return events.QueueingHint.SKIP

        bench = fakes.Bench(fakes.FakeProfile({"Fit": fakes.waits_for(fakes.NODE_ADD, hint=skip)}))
        bench.add(*(f"p{number}" for number in range(50)))
        bench.add(builders.make_pod("other").labels(app="other"))
        for _ in range(51):
            bench.attempt("Fit")
        bench.move(fakes.NODE_ADD)
        assert asked == ["p0", "other"]

    def test_a_pod_that_changed_is_judged_as_it_is_now(self) -> None:
        """An update moves a waiting pod to its new equals."""

        def if_labelled(pod: pod_shape.PodInfo, *_: object) -> events.QueueingHint:
            helps = "app" in pod.shape.labels
            return events.QueueingHint.QUEUE if helps else events.QueueingHint.SKIP

        bench = fakes.Bench(
            fakes.FakeProfile({"Fit": fakes.waits_for(fakes.NODE_ADD, hint=if_labelled)})
        )
        bench.add("a", "b")
        bench.attempt("Fit")
        bench.attempt("Fit")
        new = fakes.info(builders.make_pod("b").labels(app="x"))
        bench.queue.update(fakes.info("b"), new, ())
        bench.move(fakes.NODE_ADD)
        assert (bench.where("a"), bench.where("b")) == ("unschedulable", "backoff")

    @pytest.mark.parametrize("answer", [None, False, "QueueSkip", RuntimeError()], ids=repr)
    def test_a_hint_that_breaks_means_yes(self, answer: object) -> None:
        """A pod must not be stuck because a plugin cannot answer, or answers something else."""

        def broken(*_: object) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        bench = fakes.Bench(
            fakes.FakeProfile({"Fit": fakes.waits_for(fakes.NODE_ADD, hint=broken)})
        )
        bench.add("a")
        bench.attempt("Fit")
        bench.move(fakes.NODE_ADD)
        assert bench.where("a") == "backoff"

    def test_pending_plugins_skip_the_backoff(self) -> None:
        """A pod that only waited for somebody else is retried at once."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt("Affinity", pending=("Fit",))
        bench.move(fakes.NODE_LABEL)
        assert bench.where("a") == "backoff"
        bench.attempt("Affinity", pending=("Fit",))
        bench.move(fakes.NODE_ADD)
        assert bench.where("a") == "active"

    def test_a_pre_check_narrows(self) -> None:
        """Only pods that pass the check are moved."""
        bench = fakes.Bench()
        bench.add("a", "b")
        bench.attempt("Fit")
        bench.attempt("Fit")
        bench.queue.move_all_to_active_or_backoff(
            fakes.NODE_ADD, None, None, lambda pod: pod.pod.metadata.name == "b"
        )
        assert (bench.where("a"), bench.where("b")) == ("unschedulable", "backoff")

    def test_profiles_have_their_own_registrations(self) -> None:
        """The plugins of a pod's own profile decide."""
        other = fakes.FakeProfile({"Fit": fakes.waits_for(fakes.NODE_LABEL)})
        bench = fakes.Bench()
        bench.queue.set_profiles({"default-scheduler": fakes.FakeProfile(), "other": other})
        bench.add("a", builders.make_pod("b").scheduler_name("other"))
        bench.attempt("Fit")
        bench.attempt("Fit")
        bench.move(fakes.NODE_LABEL)
        assert (bench.where("a"), bench.where("b")) == ("unschedulable", "backoff")


class TestWithoutRoom:
    """Pods whose room another pod took between the event and their turn."""

    def test_they_return_as_if_they_had_not_been_popped(self) -> None:
        """Attempts, backoff and the time of the last attempt stay; the next event wakes them."""
        bench = fakes.Bench(settings=LATE_POP)
        bench.add("a")
        bench.attempt("Fit")
        bench.advance(5)
        bench.move(fakes.POD_DELETE)
        queued = bench.queue.pop()
        assert queued is not None
        before = (queued.timestamp_seconds, queued.backoff_until_seconds)
        bench.queue.return_still_unschedulable(queued, {"Fit"})
        assert bench.where("a") == "unschedulable"
        assert (queued.attempts, queued.unschedulable_count) == (1, 1)
        assert (queued.timestamp_seconds, queued.backoff_until_seconds) == before
        assert bench.queue.in_flight_count == 0
        assert bench.queue.incoming["unschedulable", "StillUnschedulable"] == 1
        bench.move(fakes.POD_DELETE)
        assert bench.where("a") == "active"

    def test_the_plugin_without_room_rejects_them_from_then_on(self) -> None:
        """A pod that another plugin rejected also waits for the events of this plugin."""
        bench = fakes.Bench(
            fakes.FakeProfile(
                {
                    "Fit": fakes.waits_for(fakes.POD_DELETE),
                    "Affinity": fakes.waits_for(fakes.POD_ADD),
                }
            )
        )
        bench.add("a")
        bench.attempt("Affinity")
        bench.move(fakes.POD_DELETE)
        assert bench.where("a") == "unschedulable"
        bench.move(fakes.POD_ADD)
        queued = bench.queue.pop()
        assert queued is not None
        bench.queue.return_still_unschedulable(queued, {"Fit"})
        bench.move(fakes.POD_DELETE)
        assert bench.where("a") == "backoff"

    @pytest.mark.parametrize(
        "wake, needs_room",
        [
            pytest.param(lambda bench: bench.move(fakes.POD_DELETE), True, id="deleted pod"),
            pytest.param(lambda bench: bench.move(fakes.NODE_ADD), False, id="node"),
            pytest.param(lambda bench: bench.queue.activate([fakes.uid("a")]), False, id="by name"),
            pytest.param(lambda bench: bench.advance(400), False, id="after five minutes"),
            pytest.param(
                lambda bench: bench.queue.set_profiles({"default-scheduler": fakes.FakeProfile()}),
                False,
                id="new policies",
            ),
        ],
    )
    @pytest.mark.parametrize("was_returned", [False, True])
    def test_only_pods_that_placed_pods_woke_need_room(
        self, wake: Callable[[fakes.Bench], None], *, needs_room: bool, was_returned: bool
    ) -> None:
        """Any other wake is an attempt, so that the pod is told the state of the cluster."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt("Fit")
        if was_returned:
            bench.move(fakes.POD_DELETE)
            returned = bench.queue.pop()
            assert returned is not None
            bench.queue.return_still_unschedulable(returned, {"Fit"})
        wake(bench)
        queued = bench.queue.pop()
        assert queued is not None
        assert queued.was_woken_by_placed_pods == needs_room

    def test_a_pod_woken_twice_is_activated(self) -> None:
        """An activation also makes an attempt of a pod that a deletion has already woken."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt("Fit")
        bench.move(fakes.POD_DELETE)
        bench.queue.activate([fakes.uid("a")])
        queued = bench.queue.pop()
        assert queued is not None
        assert not queued.was_woken_by_placed_pods


class TestInFlight:
    """Events that happen while a pod is being scheduled."""

    @pytest.mark.parametrize(
        "event, place",
        [
            pytest.param(fakes.NODE_ADD, "backoff", id="may help"),
            pytest.param(fakes.NODE_LABEL, "unschedulable", id="does not concern its rejector"),
        ],
    )
    def test_are_asked_when_it_comes_back(self, event: events.ClusterEvent, place: str) -> None:
        """A pod does not wait for an event that has already happened."""
        bench = fakes.Bench()
        bench.add("a")
        queued = bench.queue.pop()
        assert queued is not None
        bench.move(event)
        bench.fail(queued, "Fit")
        assert bench.where("a") == place

    def test_events_before_the_attempt_do_not_count(self) -> None:
        """Only what happened after the pod was popped can have been missed."""
        bench = fakes.Bench()
        bench.add("a", "b")
        first = bench.queue.pop()
        bench.move(fakes.NODE_ADD)
        second = bench.queue.pop()
        assert first is not None
        assert second is not None
        bench.fail(second, "Fit")
        bench.fail(first, "Fit")
        assert (bench.where("a"), bench.where("b")) == ("backoff", "unschedulable")

    def test_events_are_dropped_when_nobody_needs_them(self) -> None:
        """Memory does not grow with events: they go with the oldest pod in flight."""
        bench = fakes.Bench()
        bench.add("a", "b", "c")
        in_flight = [bench.queue.pop() for _ in range(2)]
        for _ in range(10):
            bench.move(fakes.NODE_ADD)
        third = bench.queue.pop()
        bench.move(fakes.NODE_ADD)
        for queued in in_flight:
            assert queued is not None
            bench.queue.done(queued.uid)
        assert len(bench.queue._active._events) == 1
        assert third is not None
        bench.queue.done(third.uid)
        assert bench.queue._active._events == []
        bench.move(fakes.NODE_ADD)
        assert bench.queue._active._events == []

    def test_events_are_kept_for_the_oldest_pod(self) -> None:
        """A pod that waits in Permit learns of an event, whichever younger pod ends before it."""
        bench = fakes.Bench()
        bench.add("a", "b", "c")
        oldest = bench.queue.pop()
        bench.move(fakes.NODE_ADD)
        second, third = bench.queue.pop(), bench.queue.pop()
        assert oldest is not None
        assert second is not None
        assert third is not None
        bench.queue.done(third.uid)
        bench.fail(oldest, "Fit")
        bench.fail(second, "Fit")
        assert (bench.where("a"), bench.where("b")) == ("backoff", "unschedulable")

    def test_its_own_update_counts_for_it_alone(self) -> None:
        """An update of a pod in flight may help that pod, and no other."""
        wanted = events.ClusterEvent(
            events.EventResource.UNSCHEDULED_POD, events.ActionType.UPDATE_POD_TOLERATION
        )
        bench = fakes.Bench(fakes.FakeProfile({"Taints": fakes.waits_for(wanted)}))
        bench.add("a", "b")
        first, second = bench.queue.pop(), bench.queue.pop()
        assert first is not None
        assert second is not None
        new = fakes.info(builders.make_pod("a").tolerates("gpu"))
        bench.queue.update(first.info, new, [wanted])
        bench.fail(first, "Taints")
        bench.fail(second, "Taints")
        assert (bench.where("a"), bench.where("b")) == ("backoff", "unschedulable")

    def test_activation_waits_for_it(self) -> None:
        """A pod that is activated while in flight is retried when it fails."""
        bench = fakes.Bench()
        bench.add("a", "b")
        first, second = bench.queue.pop(), bench.queue.pop()
        assert first is not None
        assert second is not None
        bench.queue.activate([first.uid])
        bench.fail(first, "Unknown")
        bench.fail(second, "Unknown")
        assert (bench.where("a"), bench.where("b")) == ("backoff", "unschedulable")

    def test_a_deleted_pod_stays_in_flight(self) -> None:
        """Who schedules it finds out and calls done; until then it holds its events."""
        bench = fakes.Bench()
        bench.add("a")
        bench.pop()
        bench.queue.delete(fakes.uid("a"))
        assert bench.queue.in_flight_count == 1
        bench.queue.done(fakes.uid("a"))
        assert bench.where("a") == "gone"

    def test_a_pod_in_flight_is_not_added_twice(self) -> None:
        """A list that shows a pod again while it is being scheduled changes nothing."""
        bench = fakes.Bench()
        bench.add("a")
        bench.pop()
        bench.add("a")
        assert bench.pop() is None


class TestGates:
    """PreEnqueue."""

    def test_a_gated_pod_waits_for_its_gate_only(self) -> None:
        """Nothing but the update that removes the last gate lets it in."""
        bench = fakes.Bench()
        gated = builders.make_pod("a").gates("wait")
        bench.add(gated)
        assert bench.queue.count_pending_pods()["gated"] == 1
        bench.move(fakes.NODE_ADD)
        bench.move(events.FORCE_ACTIVATE)
        bench.advance(1000)
        assert bench.where("a") == "gated"
        bench.queue.update(
            fakes.info(gated), fakes.info(builders.make_pod("a")), [fakes.GATES_GONE]
        )
        assert bench.where("a") == "active"

    def test_first_attempt_is_counted_from_the_gate_on(self) -> None:
        """Time spent gated is not time spent waiting for the scheduler."""
        bench = fakes.Bench()
        gated = builders.make_pod("a").gates("wait")
        bench.add(gated)
        bench.clock.advance(60)
        bench.queue.update(
            fakes.info(gated), fakes.info(builders.make_pod("a")), [fakes.GATES_GONE]
        )
        queued = bench.queue.pop()
        assert queued is not None
        assert queued.initial_attempt_seconds == 60.0


class TestGatedAfterRejection:
    """Pods that fitted nowhere and are held back now, such as preemptors."""

    SKIPS = fakes.waits_for(fakes.POD_DELETE, hint=lambda *_: events.QueueingHint.SKIP)

    def bench(self) -> tuple[fakes.Bench, fakes.FakeProfile]:
        """Return a queue in which `a` was rejected by Fit and is gated since an event."""
        profile = fakes.FakeProfile()
        profile.registered = {**profile.registered, "Preempts": self.SKIPS}
        bench = fakes.Bench(profile)
        bench.add("a")
        bench.attempt("Fit")
        profile.gated_by["a"] = "Preempts"
        bench.move(fakes.NODE_ADD)
        assert bench.where("a") == "gated"
        return bench, profile

    def test_an_event_of_the_gate_is_judged_by_who_rejected_it(self) -> None:
        """The gating plugin says when to look again, those that rejected the pod if it helps."""
        bench, profile = self.bench()
        bench.move(fakes.POD_DELETE)
        assert bench.where("a") == "gated"
        del profile.gated_by["a"]
        bench.move(fakes.POD_DELETE)
        assert bench.where("a") == "backoff"

    def test_each_look_at_a_gate_that_stays_closed_counts(self) -> None:
        """The pod has come to the unschedulable ones anew each time, as in kube-scheduler."""
        bench, _ = self.bench()
        for _ in range(3):
            bench.move(fakes.POD_DELETE)
        counted = bench.queue.incoming[scheduling_queue.UNSCHEDULABLE, fakes.POD_DELETE.label]
        assert (bench.where("a"), counted) == ("gated", 3)

    def test_the_next_gate_may_be_another_ones(self) -> None:
        """Where one plugin lets a pod pass and another does not, that one's events count."""
        bench, profile = self.bench()
        profile.gated_by["a"] = "Affinity"
        bench.move(fakes.POD_DELETE)
        assert bench.where("a") == "gated"
        del profile.gated_by["a"]
        bench.move(fakes.POD_DELETE)
        assert bench.where("a") == "gated"
        bench.move(fakes.NODE_LABEL)
        assert bench.where("a") == "backoff"

    def test_a_gate_that_breaks_lets_the_pod_back_off(self) -> None:
        """It is asked again when the backoff is over."""
        bench, profile = self.bench()
        profile.breaks = True
        bench.move(fakes.POD_DELETE)
        assert bench.where("a") == "backoff"

    def test_other_events_do_not_open_it(self) -> None:
        """What helps the pod but does not concern the gate leaves the pod where it is."""
        bench, profile = self.bench()
        del profile.gated_by["a"]
        bench.move(fakes.NODE_ADD)
        bench.move(events.FORCE_ACTIVATE)
        bench.advance(1000)
        assert bench.where("a") == "gated"

    def test_activation_opens_it(self) -> None:
        """A pod that is called by name is let in if its gate is open."""
        bench, profile = self.bench()
        bench.queue.activate([fakes.uid("a")])
        assert bench.where("a") == "gated"
        del profile.gated_by["a"]
        bench.queue.activate([fakes.uid("a")])
        assert bench.where("a") == "active"

    def test_a_plugin_without_registrations_is_asked_at_every_event(self) -> None:
        """Who does not say what it waits for waits for everything."""
        bench, profile = self.bench()
        everything = (events.ClusterEventWithHint(events.FORCE_ACTIVATE),)
        profile.registered = {**profile.registered, "Preempts": everything}
        bench.queue.set_profiles({"default-scheduler": profile})
        del profile.gated_by["a"]
        bench.move(fakes.NODE_LABEL)
        assert bench.where("a") == "backoff"

    def test_after_an_error_it_backs_off(self) -> None:
        """A pod whose preemption failed comes back by time alone, and not early."""
        bench, profile = self.bench()
        del profile.gated_by["a"]
        bench.queue.retry_after_error(fakes.uid("a"))
        assert (bench.where("a"), bench.pop()) == ("backoff", None)
        bench.advance(2)
        assert bench.where("a") == "active"

    def test_after_an_error_in_flight_it_is_requeued(self) -> None:
        """A pod that is being tried at that moment does not stay behind when it fails."""
        bench = fakes.Bench()
        bench.add("a")
        queued = bench.queue.pop()
        assert queued is not None
        bench.queue.retry_after_error(fakes.uid("a"))
        bench.fail(queued, "Fit")
        assert bench.where("a") == "backoff"
        bench.queue.retry_after_error(fakes.uid("nobody"))


class TestBrokenGates:
    """PreEnqueue plugins that raise."""

    def test_a_pod_is_asked_about_again_after_backoff(self) -> None:
        """Nobody knows whether it may come in, so it does not, and is not forgotten either."""
        profile = fakes.FakeProfile(breaks=True)
        bench = fakes.Bench(profile)
        bench.add("a", "b")
        assert (bench.where("a"), bench.pop()) == ("backoff", None)
        bench.advance(2)
        assert (bench.where("a"), bench.where("b")) == ("backoff", "backoff")
        profile.breaks = False
        bench.advance(2)
        assert (bench.where("a"), bench.where("b")) == ("backoff", "backoff")
        bench.advance(2)
        assert bench.pop_all() == ["a", "b"]

    def test_without_backoff_there_is_a_pause_all_the_same(self) -> None:
        """The loop does not spin on a plugin that breaks."""
        settings = scheduling_queue.QueueSettings(max_backoff_seconds=0)
        bench = fakes.Bench(fakes.FakeProfile(breaks=True), settings)
        bench.add("a")
        now_seconds = bench.clock.monotonic_seconds()
        assert bench.queue.next_timer_seconds() == now_seconds + 1


class TestNominations:
    """What the queue does with nominations."""

    def test_an_attempt_goes_by_the_nomination_in_memory(self) -> None:
        """The API server may show it later; until then nobody must overlook it."""
        bench = fakes.Bench()
        pod = fakes.info("a")
        bench.queue.add(pod)
        bench.queue.nominator.nominate(pod, "n1")
        queued = bench.queue.pop()
        assert queued is not None
        assert queued.info.pod.status.nominated_node_name == "n1"
        assert queued.info.shape is pod.shape
        assert pod.pod.status.nominated_node_name == ""

    def test_a_gated_pod_keeps_no_room(self) -> None:
        """A pod that is not allowed in is not nominated, whatever its status says."""
        bench = fakes.Bench()
        bench.add(builders.make_pod("a").gates("wait").nominated("n1"))
        bench.add(builders.make_pod("b").nominated("n1"))
        assert bench.queue.nominator.get_nominated_node(fakes.uid("a")) is None
        assert bench.queue.nominator.get_nominated_node(fakes.uid("b")) == "n1"


class TestTimers:
    """Flushes."""

    def test_old_unschedulable_pods_are_retried(self) -> None:
        """After five minutes a pod is tried again, whatever happened."""
        bench = fakes.Bench()
        bench.add("a")
        bench.attempt("Fit")
        for _ in range(10):
            bench.advance(30)
        assert bench.where("a") == "unschedulable"
        bench.advance(30)
        assert bench.where("a") == "active"

    def test_the_next_timer_is_known(self) -> None:
        """A loop that sleeps until the next timer misses none, and wakes for nothing else."""
        bench = fakes.Bench()
        assert bench.queue.next_timer_seconds() is None
        bench.add("a")
        assert bench.queue.next_timer_seconds() is None
        bench.attempt("Fit")
        assert bench.queue.next_timer_seconds() == 30.0
        bench.advance(30)
        assert bench.queue.next_timer_seconds() == 60.0


class TestChanges:
    """Pods that change or go while they wait."""

    def test_delete_from_every_queue(self) -> None:
        """A deleted pod is nowhere, whichever queue it was in."""
        bench = fakes.Bench(settings=LATE_POP)
        bench.add("backoff")
        bench.attempt()
        bench.add("unschedulable")
        bench.attempt("Fit")
        bench.add("active")
        places = {name: bench.where(name) for name in ("active", "backoff", "unschedulable")}
        assert places == {name: name for name in places}
        for name in places:
            bench.queue.delete(fakes.uid(name))
            assert bench.where(name) == "gone"
        assert bench.queue.list_waiting_pods() == []

    def test_an_update_of_an_unknown_pod_adds_it(self) -> None:
        """An update may be the first that is heard of a pod."""
        bench = fakes.Bench()
        bench.queue.update(fakes.info("a"), fakes.info("a"), ())
        assert bench.pop() == "a"

    def test_an_update_that_may_help_requeues(self) -> None:
        """The change of the pod itself is an event, asked of its rejectors."""
        wanted = events.ClusterEvent(
            events.EventResource.UNSCHEDULED_POD, events.ActionType.UPDATE_POD_TOLERATION
        )
        bench = fakes.Bench(fakes.FakeProfile({"Taints": fakes.waits_for(wanted)}))
        bench.add("a")
        bench.attempt("Taints")
        other = events.ClusterEvent(wanted.resource, events.ActionType.UPDATE_POD_LABEL)
        bench.queue.update(fakes.info("a"), fakes.info("a"), [other])
        assert bench.where("a") == "unschedulable"
        bench.queue.update(fakes.info("a"), fakes.info("a"), [other, wanted])
        assert bench.where("a") == "backoff"

    def test_new_profiles_retry_everything_that_waits(self) -> None:
        """A policy change may help any pod, gated ones and pods in flight included."""
        bench = fakes.Bench()
        bench.add("a", "flying")
        bench.attempt("Fit")
        flying = bench.queue.pop()
        bench.add(builders.make_pod("gated").gates("wait"))
        bench.queue.set_profiles({"default-scheduler": fakes.FakeProfile(has_gates=False)})
        assert flying is not None
        bench.fail(flying, "Fit")
        places = [bench.where(name) for name in ("a", "gated", "flying")]
        assert places == ["backoff", "active", "backoff"]

    def test_a_pod_that_no_profile_serves_any_more_is_dropped(self) -> None:
        """A pod in flight whose profile was removed does not come back."""
        bench = fakes.Bench()
        bench.add("a")
        queued = bench.queue.pop()
        bench.queue.set_profiles({"other": fakes.FakeProfile()})
        assert queued is not None
        bench.fail(queued, "Fit")
        assert bench.where("a") == "gone"

    def test_counts_by_queue_and_reason(self) -> None:
        """Metrics see every queue, and why pods entered it."""
        bench = fakes.Bench(settings=LATE_POP)
        bench.add("a", builders.make_pod("g").gates("x"))
        bench.attempt("Fit")
        bench.move(fakes.NODE_ADD)
        bench.add("b")
        assert bench.queue.count_pending_pods() == {
            "active": 1,
            "backoff": 1,
            "unschedulable": 0,
            "gated": 1,
        }
        assert bench.queue.incoming == {
            ("active", "UnschedulablePodAdd"): 2,
            ("unschedulable", "UnschedulablePodAdd"): 1,
            ("unschedulable", "ScheduleAttemptFailure"): 1,
            ("backoff", "NodeAdd"): 1,
        }


class Alphabet(fakes.FakeProfile):
    """Orders by name with a QueueSort plugin of others, which fails for some pods."""

    def sort_key(self, queued: queued_pod.QueuedPodInfo) -> tuple[object, ...]:
        """Return a key as a framework does, or fail."""
        name = queued.info.pod.metadata.name
        if name.startswith("bad"):
            raise errors.PluginFailure("Alphabet", "QueueSort", "it must answer a tuple")
        return ("t", name)


def test_pods_whose_order_is_not_known_come_last() -> None:
    """They are not lost, and come in the order of their arrival."""
    bench = fakes.Bench(Alphabet())
    bench.add("c", "bad-2", "a", "bad-1", "b")
    assert bench.pop_all() == ["a", "b", "c", "bad-2", "bad-1"]
