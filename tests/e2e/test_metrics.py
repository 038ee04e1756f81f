"""Placement by what a real Prometheus scrapes: where load moves pods to, and when data is gone."""

from __future__ import annotations

import collections
import functools
import re
from typing import TYPE_CHECKING, TypeAlias

import pytest

from tests.e2e.scenes import metrics_scene
from tests.realcluster import node_exporter

if TYPE_CHECKING:
    import contextlib
    import pathlib
    from collections.abc import Callable

    from tests.realcluster import control_plane as control_planes

    Play: TypeAlias = Callable[..., contextlib.AbstractContextManager[metrics_scene.Scene]]

pytestmark = pytest.mark.e2e

NODES = 50


@pytest.fixture
def play(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Play:
    """Starts a scene with a policy; a context manager."""
    return functools.partial(metrics_scene.playing, control_plane, namespace, tmp_path)


def _gradient() -> dict[str, node_exporter.Load]:
    """Return loads that no two nodes share, mixed so that no single metric has the order."""
    return {
        f"n{number:03}": node_exporter.Load(
            cpu=0.1 + 0.7 * (number * 7 % NODES) / NODES,
            memory=0.1 + 0.7 * (number * 11 % NODES) / NODES,
            disk_space=0.1 + 0.7 * (number * 13 % NODES) / NODES,
        )
        for number in range(NODES)
    }


def test_nodes_are_filled_in_the_order_of_prometheus_own_answer(play: Play) -> None:
    """Pods that each need a node of their own go to the best, the second best, and so on.

    They are placed by one answer, or two. Prometheus is asked again for that time, and for moments
    up to two seconds before: an answer is older than the time at which it came, more so on a busy
    machine, and rates jitter a little.
    """
    text = metrics_scene.policy_text(refresh="60s", max_age="600s")
    with play(text, loads=_gradient()) as scene:
        times = [scene.answered_at()]
        order = []
        for number in range(12):
            scene.create_pods([f"one-{number}"], spec=_host_port(), cpu="0")
            order.append(scene.wait_bound(f"one-{number}", 1)[f"one-{number}"])
        times.append(scene.answered_at())
        seen = [
            scene.points_by_hand({metric: time - back for metric, time in each.items()})
            for each in times
            for back in (0.0, 0.5, 1.0, 1.5, 2.0)
        ]
    assert len(set(order)) == len(order)
    for place, node in enumerate(order):
        here = max(points[node] for points in seen)
        others = set(seen[0]) - set(order[: place + 1])
        assert here >= max(min(points[other] for points in seen) for other in others) - 3
    assert max(seen[0].values()) - min(seen[0].values()) > 100


def _host_port() -> dict[str, object]:
    container = {
        "name": "main",
        "image": "pause:3.10",
        "ports": [{"containerPort": 80, "hostPort": 8080}],
    }
    return {"containers": [container]}


@pytest.mark.parametrize(
    "metric, load, late_seconds",
    [
        pytest.param(
            "node_memory",
            node_exporter.Load(cpu=0.05, memory=0.97),
            0.0,
            id="gauge",
            marks=pytest.mark.proof,
        ),
        pytest.param(
            "node_cpu",
            node_exporter.Load(cpu=0.98, memory=0.05),
            metrics_scene.RATE_LATE_SECONDS,
            id="rate",
        ),
    ],
)
def test_load_moves_new_pods_away(
    play: Play, metric: str, load: node_exporter.Load, late_seconds: float
) -> None:
    """One scrape and one query after load was put on nodes no pod goes there any more.

    A rate needs a window of such scrapes. What is waited for are scrapes by Prometheus' own times
    and queries by their number, and nothing else: how long that takes is printed.
    """
    busy = {f"n{number:03}" for number in range(10)}
    loads = {node: node_exporter.Load(cpu=0.05, memory=0.05) for node in busy}
    with play(metrics_scene.policy_text(), loads=loads) as scene:
        scene.create_pods([f"early-{n}" for n in range(20)])
        assert set(scene.wait_bound("early-", 20).values()) <= busy
        put_at = scene.put(busy, load)
        scraped_at = scene.wait_scraped(busy, metric, put_at + late_seconds)
        used_at = scene.wait_asked(metric)
        scene.create_pods([f"late-{n}" for n in range(40)])
        assert not set(scene.wait_bound("late-", 40).values()) & busy
    print(  # noqa: T201 - the figure that people ask for; `pytest -s` shows it
        f"{metric}: scraped {scraped_at - put_at:.2f} s after the load changed, "
        f"in use {used_at - put_at:.2f} s after at most"
    )


def test_a_node_whose_exporter_died_is_missing_and_not_idle(play: Play) -> None:
    """The idlest node gets pods; once its samples are too old it is the last to get any."""
    loads = {f"n{number:03}": node_exporter.Load(0.3, 0.3, 0.3, 0.3, 0.3) for number in range(10)}
    loads["n003"] = node_exporter.Load(0.0, 0.01, 0.0, 0.05, 0.0)
    text = metrics_scene.policy_text(max_age=metrics_scene.SHORT_AGE)
    with play(text, loads=loads, node_count=10) as scene:
        scene.create_pods([f"early-{n}" for n in range(3)])
        assert set(scene.wait_bound("early-", 3).values()) == {"n003"}
        scene.exporter.dead.add("n003")
        name = "policysched_metric_nodes"
        scene.scheduler.wait_until(
            lambda: (
                scene.own_of(name, "node_memory", state="stale") == 1
                and scene.own_of(name, "node_cpu", state="stale") == 1
            )
        )
        assert scene.own_of("policysched_metric_outage") == 0
        scene.create_pods([f"late-{n}" for n in range(20)])
        assert "n003" not in scene.wait_bound("late-", 20).values()
        scene.exporter.dead.clear()
        scene.scheduler.wait_until(lambda: scene.own_of(name, state="ok") == 10)


def test_pods_keep_binding_while_prometheus_is_down(play: Play) -> None:
    """Under `onOutage skip`: the burst ends, the outage can be seen, and it ends by itself."""
    with play(metrics_scene.policy_text(max_age=metrics_scene.SHORT_AGE)) as scene:
        known = len(scene.events())
        scene.create_pods([f"burst-{n:03}" for n in range(150)])
        scene.prometheus.process.kill()
        scene.create_pods([f"burst-{n:03}" for n in range(150, 300)])
        scene.wait_bound("burst-", 300)
        _wait_for_outage(scene)
        scene.create_pods([f"blind-{n}" for n in range(NODES)])
        blind = set(scene.wait_bound("blind-", NODES).values())
        held = collections.Counter(scene.placements().values())
        emptiest = min(held[node] for node in scene.nodes.values())
        assert max(held[node] for node in blind) <= emptiest + 4, "placed by what is requested"
        _wait_for_event(scene, known + 1)
        down = scene.events()[-1]
        assert (down["reason"], down["type"]) == ("MetricsSourceDown", "Warning")
        assert down["note"].startswith("metrics source default (")
        assert ") is down" in down["note"]

        scene.prometheus.start()
        _wait_for_recovery(scene)
        _wait_for_event(scene, known + 2)
        assert scene.events()[-1]["reason"] == "MetricsSourceUp"
        busy = [f"n{n:03}" for n in range(10, NODES)]
        put_at = scene.put(busy, node_exporter.Load(cpu=0.99))
        scene.wait_scraped(busy, "node_cpu", put_at + metrics_scene.RATE_LATE_SECONDS)
        scene.wait_asked("node_cpu")
        scene.create_pods([f"again-{n}" for n in range(20)])
        assert set(scene.wait_bound("again-", 20).values()) <= {f"n{n:03}" for n in range(10)}


def test_pods_wait_while_prometheus_is_down(play: Play) -> None:
    """Under `onOutage hold`: a pod waits and says what for, and is placed after the recovery."""
    text = metrics_scene.policy_text(on_outage="hold", max_age=metrics_scene.SHORT_AGE)
    with play(text, node_count=10) as scene:
        scene.create_pods(["early"])
        scene.wait_bound("early", 1)
        scene.prometheus.process.kill()
        _wait_for_outage(scene)
        scene.create_pods(["waits"])
        scene.scheduler.wait_until(lambda: bool(scene.condition("waits")))
        message = scene.condition("waits")["message"]
        assert message.startswith("0/10 nodes are available: pod waits for metric node_")
        assert not scene.placements("waits")
        scene.prometheus.start()
        scene.wait_bound("waits", 1)


def _wait_for_outage(scene: metrics_scene.Scene) -> None:
    """Return when the source is down and every sample is too old."""
    up = "policysched_metrics_source_up{source=default}"
    scene.scheduler.wait_until(
        lambda: (
            scene.own()[up] == 0
            and all(scene.own_of("policysched_metric_outage", m) for m in metrics_scene.METRICS)
        )
    )


def _wait_for_recovery(scene: metrics_scene.Scene) -> None:
    up = "policysched_metrics_source_up{source=default}"
    scene.scheduler.wait_until(
        lambda: (
            scene.own()[up] == 1
            and not any(scene.own_of("policysched_metric_outage", m) for m in metrics_scene.METRICS)
        )
    )


def _wait_for_event(scene: metrics_scene.Scene, count: int) -> None:
    scene.scheduler.wait_until(lambda: len(scene.events()) >= count)


@pytest.mark.parametrize(
    "is_protected",
    [
        pytest.param(True, id="protected"),
        pytest.param(False, id="unprotected", marks=pytest.mark.proof),
    ],
)
def test_a_burst_between_two_scrapes(play: Play, is_protected: bool) -> None:
    """500 pods, 100 nearly equal nodes, no new sample: `placed adds` keeps them even.

    A node gets no more pods than the mean, and those by which it was measured to be idler. Without
    it the burst meets the same quiet nodes all the time, which is what the protection is for.
    """
    text = metrics_scene.policy_text(refresh="120s", max_age="600s", is_protected=is_protected)
    loads = {
        f"n{number:03}": node_exporter.Load(memory=0.2 + 0.0002 * number) for number in range(100)
    }
    with play(text, loads=loads, node_count=100) as scene:
        asked = scene.queries()
        scene.create_pods([f"burst-{n:03}" for n in range(500)])
        per_node = collections.Counter(scene.wait_bound("burst-", 500).values())
        assert scene.queries() == asked, "no sample came in between"
        fullest = max(per_node.values())
        if is_protected:
            assert fullest <= 500 / 100 + 1 + _points_ahead(scene) / POINTS_OF_A_POD
            assert scene.own_of("policysched_metric_added_pods") == 500
        else:
            assert fullest > 2 * 7.5


POINTS_OF_A_POD = 100 * metrics_scene.WEIGHTS["node_cpu"] * 0.85 * 0.1 / 8
"""What `placed adds` takes from a node of 8 cpus for a pod of 100m."""


def _points_ahead(scene: metrics_scene.Scene) -> float:
    """Return how far the idlest node is above the mean by its samples.

    4 points by their loads, and more where a busy machine scrapes late, for rates suffer from that.
    """
    answered_at = scene.answered_at()
    measured = [
        scene.points_by_hand({metric: time - back for metric, time in answered_at.items()})
        for back in (0.0, 0.5, 1.0)
    ]
    return max(max(each.values()) - sum(each.values()) / len(each) for each in measured)


def test_queries_do_not_grow_with_pods(play: Play) -> None:
    """Prometheus itself counts: a query a metric and refresh, whatever is scheduled meanwhile."""
    with play(metrics_scene.policy_text(), node_count=20) as scene:
        scene.create_pods([f"many-{n:03}" for n in range(400)], cpu="10m")
        scene.wait_bound("many-", 400)
        scene.wait_refreshed()
        told_before = scene.queries()
        served = scene.prometheus.served_queries() - scene.served_before
        assert told_before <= served <= scene.queries() + len(metrics_scene.METRICS)
        assert served <= len(metrics_scene.METRICS) * scene.refreshes_at_most()


def test_an_event_shows_what_rules_saw(play: Play) -> None:
    """Values and ages stand in one event; the condition stays as it was, however values change."""
    with play(metrics_scene.policy_text(), node_count=10) as scene:
        client, nodes = scene.plane.client, list(scene.nodes.values())
        put_at = scene.put(nodes, node_exporter.Load(cpu=0.97))
        scene.wait_scraped(nodes, "node_cpu", put_at + metrics_scene.RATE_LATE_SECONDS)
        scene.wait_asked("node_cpu")
        scene.create_pods(["waits"])
        scene.scheduler.wait_until(lambda: bool(scene.condition("waits")))
        path = f"/apis/events.k8s.io/v1/namespaces/{scene.namespace}/events"
        scene.scheduler.wait_until(lambda: bool(client.items(path)))
        scene.wait_refreshed()
        scene.wait_refreshed()
        (event,) = client.items(path)
        message = "0/10 nodes are available: 10 node is too busy."
        assert scene.condition("waits")["message"].startswith(message)
        assert event["note"].startswith(message)
        saw = r"node-load/too-hot \(line \d+\): node_cpu 9.*% > 90%, samples .* old"
        assert re.search(saw, event["note"]), event["note"]
