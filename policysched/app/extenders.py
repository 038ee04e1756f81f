"""Connect the HTTP extenders of the configuration, and keep the JSON of pods and nodes for them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic, TypeVar

from policysched import clock as clocks
from policysched import histogram
from policysched.cluster.objects import objects
from policysched.extenders import (
    chain,
    extender,
    http_calls,
    measurements,
    object_texts,
    settings,
)
from policysched.kube.reading import reflector

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectedExtenders:
    """The extenders of a process, and what they need.

    Attributes:
        chain: asks them.
        pods, nodes: the JSON that they receive; `nodes` is None if all keep nodes themselves.
        calls: durations of calls, in seconds.
    """

    chain: chain.ExtenderChain
    pods: object_texts.ObjectTexts[objects.Pod]
    nodes: object_texts.ObjectTexts[objects.Node] | None
    calls: histogram.LabelledHistograms


@contextlib.asynccontextmanager
async def connect_extenders(
    configured: Sequence[settings.ExtenderSettings],
    clock: clocks.Clock,
    require_leadership: Callable[[], object],
) -> AsyncIterator[ConnectedExtenders | None]:
    """Open connections to all extenders on demand; yield None without extenders.

    Raises:
        ConfigurationError: a certificate or key cannot be used.
    """
    if not configured:
        yield None
        return
    pods = object_texts.make_pod_texts(keeps_placed=any(map(_receives_victims, configured)))
    nodes = object_texts.make_node_texts()
    measured = measurements.CallMeasurements(clock)
    made = []
    async with contextlib.AsyncExitStack() as sessions:
        for each in configured:
            caller = await sessions.enter_async_context(http_calls.open_caller(each))
            made.append(extender.Extender(each, caller, pods, nodes, measured))
        is_sent_nodes = not all(each.node_cache_capable for each in configured)
        yield ConnectedExtenders(
            chain.ExtenderChain(made, require_leadership, clock),
            pods,
            nodes if is_sent_nodes else None,
            measured.durations,
        )


def _receives_victims(each: settings.ExtenderSettings) -> bool:
    return bool(each.preempt_verb) and not each.node_cache_capable


class TextForgettingSink(Generic[_T]):
    """Passes changes on, and forgets the texts of deleted objects."""

    def __init__(
        self, sink: reflector.ReflectorSink[_T], texts: object_texts.ObjectTexts[_T]
    ) -> None:
        """Pass changes to `sink`; the decoder adds texts to `texts`."""
        self._sink = sink
        self._texts = texts

    def replace(self, objects: Sequence[_T]) -> None:
        """Replace the whole content."""
        self._texts.retain(objects)
        self._sink.replace(objects)

    def upsert(self, obj: _T) -> None:
        """Add or replace an object."""
        self._sink.upsert(obj)

    def delete(self, obj: _T) -> None:
        """Remove an object."""
        self._texts.forget(obj)
        self._sink.delete(obj)
