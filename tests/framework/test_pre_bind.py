"""PreBind, what is asked before it, and Unreserve."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, profile, runtime, status
from tests import builders

POD = pod_shape.PodShapeCache().make_pod_info(builders.make_pod("a").build())
BROKEN = status.Status(status.Code.ERROR, ("no volume",))


@dataclasses.dataclass
class Quick:
    """Has PreBind and says nothing before it."""

    name: str
    calls: list[str]

    async def pre_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Write the call down."""
        self.calls.append(self.name)
        return status.SUCCESS


@dataclasses.dataclass
class Looks(Quick):
    """Says before PreBind whether it has work."""

    answer: status.Status = status.SUCCESS

    def pre_bind_pre_flight(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Say it."""
        return self.answer


@dataclasses.dataclass
class Reserves:
    """Writes down that it got something back, and may break then."""

    name: str
    calls: list[str]
    breaks: bool = False

    def unreserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Take it back."""
        self.calls.append(self.name)
        if self.breaks:
            raise RuntimeError(self.name)


def framework(*plugins: interface.Plugin) -> runtime.Framework:
    """Return a profile of some plugins."""
    return runtime.Framework(profile.Profile("s", plugins, {}), None)


@pytest.mark.parametrize(
    "answers, expected, working",
    [
        pytest.param([], status.SKIP, [], id="no plugins"),
        pytest.param([status.SKIP, status.SKIP], status.SKIP, [], id="nothing to do"),
        pytest.param([status.SKIP, status.SUCCESS], status.SUCCESS, ["P1"], id="one has work"),
        pytest.param([None], status.SUCCESS, ["P0"], id="one that does not say"),
    ],
)
def test_only_plugins_with_work_are_run(
    answers: list[status.Status | None], expected: status.Status, working: list[str]
) -> None:
    """Who skips before is left out of PreBind."""
    calls: list[str] = []
    plugins = [
        Quick(f"P{n}", calls) if answer is None else Looks(f"P{n}", calls, answer)
        for n, answer in enumerate(answers)
    ]
    profiled, state = framework(*plugins), cycle_state.CycleState()
    assert profiled.binding.pre_bind_pre_flight(state, POD, "n1") == expected
    assert asyncio.run(profiled.binding.pre_bind(state, POD, "n1")).is_success
    assert calls == working


@pytest.mark.parametrize("answer", [BROKEN, status.unschedulable("", "no volume")])
def test_any_other_answer_is_an_error(answer: status.Status) -> None:
    """Before PreBind a plugin can only have work, have none, or fail."""
    calls: list[str] = []
    found = framework(Looks("P", calls, answer)).binding.pre_bind_pre_flight(
        cycle_state.CycleState(), POD, "n1"
    )
    assert found.code is status.Code.ERROR
    assert found.message == 'running PreBindPreFlight "P": no volume'


def test_without_a_look_before_all_plugins_run() -> None:
    """Whoever skips the look runs PreBind in full."""
    calls: list[str] = []
    profiled = framework(Looks("P", calls, status.SKIP))
    assert asyncio.run(profiled.binding.pre_bind(cycle_state.CycleState(), POD, "n1")).is_success
    assert calls == ["P"]


def test_a_plugin_that_breaks_keeps_nothing_from_others(caplog: pytest.LogCaptureFixture) -> None:
    """Everybody gets back what was reserved, in reverse order, whatever one of them raises."""
    calls: list[str] = []
    profiled = framework(Reserves("P0", calls), Reserves("P1", calls, breaks=True))
    profiled.binding.unreserve(cycle_state.CycleState(), POD, "n1")
    assert calls == ["P1", "P0"]
    assert "Unreserve of plugin P1 failed for pod default/a" in caplog.text
