"""Tests of the state that gates preemptors while their victims are evicted."""

from __future__ import annotations

import pytest

from policysched.framework import preemptions


@pytest.fixture
def running() -> preemptions.PreemptionsInProgress:
    """Return one preemption that has begun, that of `a`."""
    state = preemptions.PreemptionsInProgress()
    state.start("a")
    return state


def test_a_preemptor_waits_from_start_to_finish(running: preemptions.PreemptionsInProgress) -> None:
    """Only the pod whose victims are being evicted waits, and only until that is done."""
    assert (running.is_running("a"), running.is_running("b")) == (True, False)
    running.finish("a")
    assert not running.is_running("a")


@pytest.mark.parametrize("is_leaving", [False, True])
def test_the_last_victim_is_looked_at_itself(
    running: preemptions.PreemptionsInProgress,
    is_leaving: bool,
) -> None:
    """When only one victim is left the preemptor waits until that one is seen to leave."""
    running.wait_for_last("a", lambda: is_leaving)
    assert running.is_running("a") is not is_leaving


def test_what_is_finished_does_not_begin_again(running: preemptions.PreemptionsInProgress) -> None:
    """A last victim that is named too late does not gate the pod again."""
    running.finish("a")
    running.wait_for_last("a", lambda: False)
    assert not running.is_running("a")
    running.finish("a")
