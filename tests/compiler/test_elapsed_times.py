"""How long pods wait, and ages of pods and nodes, in conditions and scores."""

from __future__ import annotations

import pytest

from policysched.cluster import elapsed_time
from policysched.framework import events
from tests import builders
from tests.compiler import desk, test_requeue

NODES = [desk.node("spot", pool="spot"), desk.node("std", pool="std")]
SPOT_FIRST = "policy p { for pods reject when not node(pool = spot) and waiting < 10m as spot }"
BOTH = ["spot", "std"]


@pytest.mark.parametrize(
    "pod, feasible",
    [
        pytest.param(desk.pod(), ["spot"], id="never-tried"),
        pytest.param(desk.pod().created(-9000), ["spot"], id="created-long-ago"),
        pytest.param(desk.pod().tried(-599), ["spot"], id="too-early"),
        pytest.param(desk.pod().tried(-600), BOTH, id="at-the-bound"),
        pytest.param(desk.pod().tried(-600, "SchedulerError"), BOTH, id="after-an-error"),
        pytest.param(desk.pod().tried(-9000, "SchedulingGated"), ["spot"], id="gated"),
        pytest.param(desk.pod().tried(60), ["spot"], id="clock-set-back"),
        pytest.param(
            desk.pod().created(-600).tried(None),
            BOTH,
            id="condition-without-time",
        ),
    ],
)
def test_other_nodes_open_after_ten_minutes(pod: builders.PodBuilder, feasible: list[str]) -> None:
    """The time counts from the condition that no scheduling gate wrote, exact to the second."""
    assert desk.Desk(SPOT_FIRST, NODES).feasible(pod) == feasible


@pytest.mark.parametrize(
    "condition, rejected_at",
    [
        ("waiting < 30s", [0, 29]),
        ("waiting <= 30s", [0, 29, 30]),
        ("waiting > 30s", [31, 60]),
        ("waiting >= 30s", [30, 31, 60]),
        ("30s < waiting", [31, 60]),
        ("waiting > 29500ms", [30, 31, 60]),
        ("waiting >= 29500ms", [30, 31, 60]),
        ("waiting >= 0s", [0, 29, 30, 31, 60]),
        ("waiting > 29s and waiting < 31s", [30]),
    ],
)
@pytest.mark.parametrize("kind", ["waiting", "podAge", "nodeAge"])
def test_all_comparisons_are_exact_to_the_second(
    kind: str, condition: str, rejected_at: list[int]
) -> None:
    """Whole seconds count, also if the clock is between two of them."""
    text = f"policy p {{ for pods reject when {condition.replace('waiting', kind)} }}"
    for offset in (0.0, 0.9):
        rejected = []
        for seconds in (0, 29, 30, 31, 60):
            there = desk.Desk(text, [desk.node("n").created(-seconds)])
            there.clock.advance(offset)
            if not there.feasible(desk.pod().tried(-seconds).created(-seconds)):
                rejected.append(seconds)
        assert rejected == rejected_at


def test_kept_answers_follow_the_time() -> None:
    """The same desk decides about equal pods before and after bounds, and a late node counts."""
    text = "policy p { for pods reject when nodeAge < 5m reject when podAge > 15m }"
    there = desk.Desk(text, [desk.node("old").created(-1000), desk.node("new").created(-10)])
    pod = desk.pod().created(-10)
    found = []
    for seconds in (0, 289, 1, 60, 540, 1):
        there.clock.advance(seconds)
        if seconds == 1:
            there.cache.set_node(desk.node("late").created(-5).build())
        found.append(there.feasible(pod))
    three = ["old", "new", "late"]
    assert found == [["old"], ["old"], ["old", "new"], three, three, []]


def test_a_node_that_was_made_again_has_its_own_age() -> None:
    """Nothing else differs, as after a gap of the watch."""
    there = desk.Desk("policy p { for pods reject when nodeAge < 5m }", [desk.node("n")])
    found = []
    for created_seconds in (-1000, -10, -1000):
        there.cache.set_node(desk.node("n").created(created_seconds).build())
        found.append(there.feasible(desk.pod()))
    assert found == [["n"], [], ["n"]]


def test_pods_share_answers_between_bounds() -> None:
    """A hundred equal pods that wait for different times have two shapes."""
    there = desk.Desk(SPOT_FIRST, NODES)
    bounds = there.frameworks[None].time_bounds
    assert bounds == elapsed_time.TimeBounds(waiting=(600,))
    now_seconds = there.clock.now().timestamp()
    infos = [there.shapes.make_pod_info(desk.pod().tried(-10 * n).build()) for n in range(100)]
    shapes = {info.place_in_time(bounds, now_seconds).shape for info in infos}
    assert sorted(shape.times.waiting_seconds for shape in shapes) == [0, 600]
    assert infos[0].shape in shapes


def test_bounds_of_shadow_policies_count() -> None:
    """Those of policies in no profile do not."""
    text = """
    policy shadow { mode shadow for pods reject when waiting < 1m and podAge > 1h }
    policy real { for pods reject when nodeAge <= 90s or waiting > 2m }
    policy unused { for pods reject when waiting < 7m }
    profile a { policies shadow, real }
    """
    bounds = desk.Desk(text).frameworks["a"].time_bounds
    assert bounds == elapsed_time.TimeBounds((60, 121), (3601,), (91,))


def test_a_pod_wakes_at_the_bound_that_opens_a_node() -> None:
    """A bound that opens no node is worth no attempt."""
    text = """policy p {
      for pods
      reject when not node(pool = spot) and waiting < 10m
      reject when node(pool = spot)
      reject when waiting < 5m and node(pool = spot)
    }"""
    there = test_requeue.Waiting(text, NODES).begin(desk.pod().tried(0))
    bounds = there.frameworks[None].time_bounds
    woken = {}
    for seconds in (300, 600):
        old = there.waiting
        now_seconds = there.clock.now().timestamp() + seconds
        there.waiting = old.place_in_time(bounds, now_seconds)
        assert there.waiting.shape is not old.shape
        woken[seconds] = there.hint(events.POD_AGE, old, there.waiting)
    assert woken == {300: False, 600: True}


@pytest.mark.parametrize(
    "text, is_helped",
    [
        ("reject when nodeAge < 5m", True),
        ("reject when nodeAge < 5m and free(cpu) < 100", True),
        ("reject when nodeAge < 5m or nodeAge > 9999y", True),
        ("reject when nodeAge < 5m reject when node(pool = std)", False),
        ("reject when nodeAge > 5m", False),
        ("reject when node(pool = std)", False),
    ],
)
def test_a_node_that_grows_old_enough_wakes_its_pods(text: str, *, is_helped: bool) -> None:
    """Only if it then passes all rules, and did not before."""
    policy = f"policy p {{ for pods {text} reject when node(pool = spot) }}"
    if not is_helped:
        policy = policy.replace("reject when node(pool = spot)", "reject when nodeAge < 10m")
    there = test_requeue.Waiting(policy, [desk.node("std", pool="std").created(0)])
    there.begin(desk.pod())
    there.clock.advance(301)
    there.cache.expire_samples()
    node = there.cache.get_node("std")
    assert there.hint(events.NODE_AGE, node, node) is is_helped
