from __future__ import annotations

import random

import pytest

from policysched import clock as clocks
from policysched.cluster.objects import objects
from policysched.sim import node_load
from tests import builders

NODE = builders.make_node("n1").capacity(cpu="8", memory="32Gi").build()
IDLE = builders.make_node("n2").capacity(cpu="8", memory="32Gi").build()


def _load(
    clock: clocks.ManualClock | None = None, *, lag_seconds: float = 0.0, jitter: float = 0.0
) -> node_load.SimulatedNodeLoad:
    clock = clock or clocks.ManualClock(builders.EPOCH)
    return node_load.SimulatedNodeLoad(
        clock, random.Random(5), lag_seconds=lag_seconds, jitter=jitter
    )


def _pods(count: int, node_name: str = "n1") -> list[objects.Pod]:
    return [
        builders.make_pod(f"p{n}").requests(cpu="1", memory="2Gi").node(node_name).build()
        for n in range(count)
    ]


@pytest.mark.parametrize("metric", node_load.METRICS)
def test_load_follows_the_pods(metric: str) -> None:
    """Every metric is higher on the node that has the pods, and rises with their number."""
    load = _load()
    few, many = (load.measure_samples([NODE, IDLE], _pods(count))[metric] for count in (2, 6))
    assert few["n1"].value > few["n2"].value
    assert many["n1"].value > few["n1"].value
    assert many["n2"].value == few["n2"].value


def test_pending_and_ended_pods_cause_no_load() -> None:
    """Only pods that run on a node count there."""
    pending = builders.make_pod("a").requests(cpu="4").build()
    ended = builders.make_pod("b").requests(cpu="4").node("n1").status(phase="Succeeded").build()
    load = _load()
    assert load.measure_samples([NODE], [pending, ended]) == load.measure_samples([NODE], [])


def test_shares_end_at_one() -> None:
    """An overloaded node is fully busy, not busier."""
    samples = _load().measure_samples([NODE], _pods(400))
    shares = [samples[m]["n1"].value for m in node_load.METRICS if m != node_load.NETWORK_TRAFFIC]
    assert shares == [1.0, 1.0, 1.0]


def test_load_becomes_visible_gradually() -> None:
    """After one time constant a sample has covered 63 % of the change."""
    clock = clocks.ManualClock(builders.EPOCH)
    load = _load(clock, lag_seconds=30.0)
    before = load.measure_samples([NODE], [])[node_load.CPU_BUSY]["n1"].value
    clock.advance(30)
    after = load.measure_samples([NODE], _pods(3))[node_load.CPU_BUSY]["n1"].value
    clock.advance(3600)
    full = load.measure_samples([NODE], _pods(3))[node_load.CPU_BUSY]["n1"].value
    assert (after - before) / (full - before) == pytest.approx(0.632, abs=0.001)


def test_background_load_needs_no_pod() -> None:
    """A noisy neighbour is seen although no pod requests anything."""
    load = _load()
    load.background["n1"] = {node_load.CPU_BUSY: 0.7}
    busy = load.measure_samples([NODE, IDLE], [])[node_load.CPU_BUSY]
    assert busy["n1"].value - busy["n2"].value == pytest.approx(0.7)


def test_samples_carry_the_time_of_the_clock() -> None:
    """The time of a sample is that of the measurement, in seconds since 1970."""
    clock = clocks.ManualClock(builders.EPOCH)
    clock.advance(90)
    sample = _load(clock).measure_samples([NODE], [])[node_load.MEMORY_USED]["n1"]
    assert sample.measured_at_seconds == builders.EPOCH.timestamp() + 90


def test_jitter_follows_the_seed() -> None:
    """The same seed measures the same, another moment another value."""
    clock = clocks.ManualClock(builders.EPOCH)
    first, second = (_load(clock, jitter=0.05) for _ in range(2))
    assert first.measure_samples([NODE], _pods(3)) == second.measure_samples([NODE], _pods(3))
    assert first.measure_samples([NODE], _pods(3)) != first.measure_samples([NODE], _pods(3))
