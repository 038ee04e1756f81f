"""Stop aiohttp writes just before they are sent if the fence has closed (`kube/http/fence.py`)."""

from __future__ import annotations

import dataclasses
import types
from typing import TypeAlias

import aiohttp

from policysched.kube import errors
from policysched.kube.http import fence

_Sent: TypeAlias = aiohttp.TraceRequestHeadersSentParams | aiohttp.TraceRequestChunkSentParams


@dataclasses.dataclass(slots=True)
class CallAttemptTrace:
    """The trace context of one attempt of a call.

    Attributes:
        is_held_back: whether the fence stopped the attempt before it was sent.
    """

    is_held_back: bool = False


def make_fence_trace(writes: fence.WriteFence) -> aiohttp.TraceConfig:
    """Return a trace that checks the fence immediately before bytes are sent.

    Time may have passed since the first check, for example while a connection was opened or the
    process was stopped.
    """

    async def look(_: object, context: types.SimpleNamespace, sent: _Sent) -> None:
        if sent.method != "GET":
            try:
                writes.compute_allowed_write_seconds()
            except errors.FencedWriteError:
                context.trace_request_ctx.is_held_back = True
                raise

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(look)
    trace.on_request_chunk_sent.append(look)
    return trace
