"""Measures single plugins, in those cycles in which somebody wants to know."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

from policysched.framework import interface, point_times, status

AnswerT = TypeVar("AnswerT")

Observe: TypeAlias = Callable[[float, str, str, str], None]
"""Takes seconds, and the names of plugin, extension point and status."""

_POINTS = {
    "PreFilter": "PreFilter",
    "Filter": "Filter",
    "PostFilter": "PostFilter",
    "PreScore": "PreScore",
    "Score": "Score",
    "NormalizeScore": "ScoreExtensionNormalize",
    "Reserve": "Reserve",
    "Permit": "Permit",
}
"""Labels of kube-scheduler (metrics/metrics.go); other questions to plugins are not measured."""


class Watch:
    """Measures how long plugins take to answer."""

    def __init__(self, seconds: point_times.Seconds, observe: Observe) -> None:
        """Measure by a monotonic clock and tell `observe`."""
        self._seconds = seconds
        self._observe = observe

    def timed(self, plugin: interface.Plugin, point: str, answer: Callable[[], AnswerT]) -> AnswerT:
        """Return what a plugin answers."""
        label = _POINTS.get(point)
        if label is None:
            return answer()
        started_seconds = self._seconds()
        answered = answer()
        seconds = self._seconds() - started_seconds
        self._observe(seconds, plugin.name, label, _code(answered).value)
        return answered


CURRENT: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("watch", default=None)
"""Who measures now."""


@contextlib.contextmanager
def measuring(watch: Watch) -> Iterator[None]:
    """Let `watch` measure every plugin that is asked meanwhile."""
    token = CURRENT.set(watch)
    try:
        yield
    finally:
        CURRENT.reset(token)


def _code(answer: Any) -> status.Code:  # noqa: ANN401 - whatever a plugin returns
    """Return the code of an answer; those about many nodes are success, whatever they say."""
    if isinstance(answer, tuple) and answer:  # of Permit, with the time to wait
        answer = answer[0]
    found = getattr(answer, "status", answer)
    return found.code if isinstance(found, status.Status) else status.Code.SUCCESS
