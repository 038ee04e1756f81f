"""Which pods count as just placed, and for how long."""

from __future__ import annotations

import datetime

import pytest

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster import metric_needs
from policysched.cluster.metrics import recent_placements
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from tests import builders

SECONDS = 60.0


def _cache() -> tuple[caches.Cache, clocks.ManualClock, pod_shape.PodShapeCache]:
    clock = clocks.ManualClock(builders.EPOCH)
    cache = caches.Cache(clock)
    cache.set_node(builders.make_node("n1").build())
    cache.retain_needed_metric_data(metric_needs.MetricNeeds(placed_seconds=frozenset({SECONDS})))
    return cache, clock, pod_shape.PodShapeCache()


def _counting(cache: caches.Cache) -> set[str]:
    recent = cache.snapshot().placed.recent
    return {uid for row in recent.get_rows(SECONDS) for uid in recent.get_pods(SECONDS, row)}


def _pod(
    name: str, scheduled_seconds_ago: float | None = None, start_time: str | None = None
) -> objects.Pod:
    conditions: tuple[objects.Condition, ...] = ()
    if scheduled_seconds_ago is not None:
        moment = builders.EPOCH - datetime.timedelta(seconds=scheduled_seconds_ago)
        said = moment.isoformat()
        conditions = (objects.Condition("PodScheduled", "True", last_transition_time=said),)
    pod = builders.make_pod(name).node("n1")
    return pod.status(conditions=conditions, start_time=start_time).build()


def test_an_assumed_pod_counts_until_its_time_is_over() -> None:
    """Its row is noted when it comes and when it ceases to count."""
    cache, clock, shapes = _cache()
    info = shapes.make_pod_info(builders.make_pod("p").build())
    cache.assume_pod(info, "n1")
    assert _counting(cache) == {info.uid}
    clock.advance(SECONDS - 0.5)
    before = cache.nodes.usage_changes.generation
    assert _counting(cache) == {info.uid}
    assert cache.nodes.usage_changes.list_changes_since(before) == []
    clock.advance(0.5)
    assert _counting(cache) == set()
    assert cache.nodes.usage_changes.list_changes_since(before) == [cache.nodes.row_of["n1"]]
    assert cache.forget_pod(info)


def test_a_binding_that_fails_takes_it_back() -> None:
    """A pod that is forgotten, or that goes, no longer counts."""
    cache, _, shapes = _cache()
    info = shapes.make_pod_info(builders.make_pod("p").build())
    cache.assume_pod(info, "n1")
    cache.forget_pod(info)
    assert _counting(cache) == set()
    cache.assume_pod(info, "n1")
    cache.remove_pod(info)
    assert _counting(cache) == set()


def test_the_watch_confirms_and_does_not_prolong() -> None:
    """A pod counts from when it was assumed, however late the watch is."""
    cache, clock, shapes = _cache()
    info = shapes.make_pod_info(builders.make_pod("p").build())
    cache.assume_pod(info, "n1")
    clock.advance(50)
    confirmed = shapes.make_pod_info(_pod("p", scheduled_seconds_ago=-49))
    cache.add_pod(confirmed)
    assert _counting(cache) == {info.uid}
    clock.advance(11)
    assert _counting(cache) == set()


@pytest.mark.parametrize(
    "pod, counts",
    [
        pytest.param(_pod("p", 30), True, id="scheduled-lately"),
        pytest.param(_pod("p", 61), False, id="scheduled-long-ago"),
        pytest.param(_pod("p", -3600), True, id="clock-ahead-counts-from-now"),
        pytest.param(_pod("p", start_time="2026-01-05T11:59:30Z"), True, id="started-lately"),
        pytest.param(_pod("p", start_time="not a time"), False, id="unreadable"),
        pytest.param(_pod("p"), False, id="nothing-said"),
    ],
)
@pytest.mark.parametrize("follows_first", [True, False])
def test_placed_pods_count_by_what_their_status_says(
    pod: objects.Pod, counts: bool, follows_first: bool
) -> None:
    """After a restart too, and where the policies come after the pods."""
    cache, clock, shapes = _cache()
    needs = metric_needs.MetricNeeds(placed_seconds=frozenset({SECONDS}))
    if not follows_first:
        cache.retain_needed_metric_data(metric_needs.MetricNeeds())
    cache.add_pod(shapes.make_pod_info(pod))
    cache.retain_needed_metric_data(needs)
    assert bool(_counting(cache)) is counts
    clock.advance(SECONDS + 1)
    assert not _counting(cache)


def test_the_next_change_is_that_of_a_pod_that_is_there() -> None:
    """What a pod that is gone would have changed is no change."""
    cache, clock, shapes = _cache()
    recent = cache.snapshot().placed.recent
    assert recent.next_change_seconds() is None
    first, second = (shapes.make_pod_info(builders.make_pod(name).build()) for name in ("a", "b"))
    cache.assume_pod(first, "n1")
    clock.advance(10)
    cache.assume_pod(second, "n1")
    cache.forget_pod(first)
    assert recent.next_change_seconds() == builders.EPOCH.timestamp() + 10 + SECONDS


def test_scheduled_at_prefers_the_condition() -> None:
    """A condition that is not true says nothing."""
    pod = _pod("p", 30, start_time="2026-01-05T11:00:00Z")
    assert recent_placements.get_scheduled_at_seconds(pod) == builders.EPOCH.timestamp() - 30


def test_pods_of_a_shape_are_counted_together() -> None:
    """Coming and going, the counts are those of the pods that count on the row."""
    cache, clock, shapes = _cache()
    recent = cache.snapshot().placed.recent
    row = cache.nodes.row_of["n1"]
    requests = ("100m", "200m", "100m", "100m")
    infos = [
        shapes.make_pod_info(builders.make_pod(f"p{number}").requests({"cpu": cpu}).build())
        for number, cpu in enumerate(requests)
    ]
    for info in infos:
        cache.assume_pod(info, "n1")
        clock.advance(10)
    few, many = infos[1].shape, infos[0].shape
    assert recent.count_pods_by_shape(SECONDS, row) == {many: 3, few: 1}
    cache.forget_pod(infos[2])
    cache.forget_pod(infos[1])
    assert recent.count_pods_by_shape(SECONDS, row) == {many: 2}
    clock.advance(25)
    cache.expire_samples()
    assert recent.count_pods_by_shape(SECONDS, row) == {many: 1}
    cache.forget_pod(infos[3])
    assert recent.count_pods_by_shape(SECONDS, row) == {}


def test_a_clock_that_is_set_back_lets_no_pod_count_for_longer() -> None:
    """Neither by what is followed, nor by what is followed from then on."""
    cache, clock, shapes = _cache()
    cache.assume_pod(shapes.make_pod_info(builders.make_pod("p").build()), "n1")
    clock.advance(20)
    clock.jump_wall_clock(-3600)
    assert len(_counting(cache)) == 1
    cache.retain_needed_metric_data(metric_needs.MetricNeeds(placed_seconds=frozenset({SECONDS})))
    clock.advance(39)
    assert len(_counting(cache)) == 1
    clock.advance(1)
    assert _counting(cache) == set()
