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


@pytest.mark.parametrize("is_over", [False, True])
def test_victims_are_looked_at(running: preemptions.PreemptionsInProgress, is_over: bool) -> None:
    """Once the last victim is being evicted, the preemptor waits until all are seen to go."""
    running.wait_until("a", lambda: is_over)
    running.start("b")
    assert running.is_running("a") is not is_over
    assert running.is_running("b")


def test_what_is_finished_does_not_begin_again(running: preemptions.PreemptionsInProgress) -> None:
    """Looking at victims too late does not gate the pod again."""
    running.finish("a")
    running.wait_until("a", lambda: False)
    assert not running.is_running("a")
    running.finish("a")
