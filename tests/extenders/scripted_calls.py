"""An extender whose answers a test chooses; it speaks no HTTP."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from policysched import clock as clocks
from policysched.extenders import calls, chain, extender, measurements, settings

Answer: TypeAlias = Any
"""A JSON value, an exception, or a function of the request that returns one of these."""


LIMIT_SECONDS = 5.0
"""The default time limit of calls."""

FAILURE = calls.ExtenderError("the extender is down")


@dataclasses.dataclass
class ScriptedCalls:
    """Answers by verb.

    Attributes:
        answers: the answer of each verb.
        requests: (verb, decoded body) of all requests, in order.
        hold: if set, calls wait for it.
        clock: if set, each call lasts `seconds` on it, at most `LIMIT_SECONDS`.
    """

    answers: dict[str, Answer] = dataclasses.field(default_factory=dict)
    requests: list[tuple[str, Any]] = dataclasses.field(default_factory=list)
    hold: asyncio.Event | None = None
    clock: clocks.ManualClock | None = None
    seconds: float = 0.0

    async def post(self, verb: str, body: bytes, left_seconds: float = math.inf) -> bytes:
        """Answer from the script; see `calls.ExtenderCaller`."""
        request = msgspec.json.decode(body)
        self.requests.append((verb, request))
        if self.hold is not None:
            await self.hold.wait()
        self._spend_time(left_seconds)
        answer = self.answers[verb]
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        return msgspec.json.encode(answer)

    def _spend_time(self, left_seconds: float) -> None:
        if self.clock is None:
            return
        self.clock.advance(min(self.seconds, LIMIT_SECONDS, left_seconds))
        if left_seconds < min(self.seconds, LIMIT_SECONDS):
            raise calls.NoTimeLeftError("no time is left")
        if self.seconds > LIMIT_SECONDS:
            raise FAILURE

    def release(self) -> None:
        """Answer the calls that are held, and further ones at once."""
        assert self.hold is not None
        self.hold.set()

    def list_bodies(self, verb: str) -> list[Any]:
        """Return the bodies of all requests for a verb."""
        return [body for asked, body in self.requests if asked == verb]


class ObjectNames:
    """Texts that contain only the keys of objects."""

    def get(self, key: str) -> bytes:
        """Return an object with its key as name."""
        return msgspec.json.encode({"metadata": {"name": key}})


def make_settings(**fields: Any) -> settings.ExtenderSettings:
    """Return settings of an extender that receives names of nodes."""
    given: dict[str, Any] = {"url_prefix": "http://extender", "node_cache_capable": True}
    given |= fields
    return settings.ExtenderSettings(**given)


def make_chain(
    *extenders: tuple[settings.ExtenderSettings, ScriptedCalls],
    require_leadership: Callable[[], object] = lambda: None,
    clock: clocks.Clock | None = None,
) -> chain.ExtenderChain:
    """Return the chain of some extenders."""
    texts = ObjectNames()
    clock = clock or clocks.SystemClock()
    measured = measurements.CallMeasurements(clock)
    made = [extender.Extender(each, script, texts, texts, measured) for each, script in extenders]
    return chain.ExtenderChain(made, require_leadership, clock)
