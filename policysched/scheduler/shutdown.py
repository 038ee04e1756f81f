"""The end of a loop: what it began is finished, or cancelled when that takes too long."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any


async def finish_tasks(tasks: Collection[asyncio.Task[Any]], grace_seconds: float) -> bool:
    """Wait for the tasks, and cancel those that have not ended in time.

    Args:
        tasks: may shrink meanwhile.
        grace_seconds: how long they have.

    Returns:
        Whether all ended by themselves, so that no call is under way any more.
    """
    if tasks:
        await asyncio.wait(tasks, timeout=grace_seconds)
    unfinished = list(tasks)
    for task in unfinished:
        task.cancel()
    await asyncio.gather(*unfinished, return_exceptions=True)
    return not unfinished
