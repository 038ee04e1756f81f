"""Connect the HTTP extenders of the configuration, and keep the JSON of pods and nodes for them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence

from policysched import clock as clocks
from policysched import histogram
from policysched.cluster.objects import objects
from policysched.extenders import (
    chain,
    extender,
    http_calls,
    interest,
    measurements,
    object_texts,
    settings,
)


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
) -> AsyncIterator[ConnectedExtenders]:
    """Open connections to all extenders on demand.

    Raises:
        ConfigurationError: a certificate or key cannot be used.
    """
    pods = object_texts.make_pod_texts(
        interest.make_interest_test(configured),
        keeps_placed=any(map(_receives_victims, configured)),
    )
    nodes = object_texts.make_node_texts()
    measured = measurements.CallMeasurements(clock)
    extenders = []
    async with contextlib.AsyncExitStack() as sessions:
        for server in configured:
            caller = await sessions.enter_async_context(http_calls.open_caller(server))
            extenders.append(extender.Extender(server, caller, pods, nodes, measured))
        is_sent_nodes = not all(server.node_cache_capable for server in configured)
        yield ConnectedExtenders(
            chain.ExtenderChain(extenders, require_leadership, clock),
            pods,
            nodes if is_sent_nodes else None,
            measured.durations,
        )


def _receives_victims(server: settings.ExtenderSettings) -> bool:
    return bool(server.preempt_verb) and not server.node_cache_capable
