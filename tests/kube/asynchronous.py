"""Runs coroutine functions as tests."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec

P = ParamSpec("P")

LIMIT_SECONDS = 180.0
"""No scenario takes a second; one that hangs fails and says where it hung."""


def asynchronous(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Let a coroutine function be a test: each call has an event loop of its own."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def limited() -> None:
            async with asyncio.timeout(LIMIT_SECONDS):
                await test(*args, **kwargs)

        asyncio.run(limited())

    return run


class Sleeps(list[float]):
    """Stands in for `asyncio.sleep`: takes no time and keeps what was asked for."""

    async def __call__(self, seconds: float) -> None:
        """Remember the pause and let other tasks run."""
        self.append(seconds)
        await asyncio.sleep(0)
