"""The end of a loop: its tasks finish, or are cancelled after a timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any


async def finish_tasks(tasks: Collection[asyncio.Task[Any]], grace_seconds: float) -> bool:
    """Wait for the tasks, and cancel those that have not ended in time.

    Args:
        tasks: may shrink during the call.
        grace_seconds: how long to wait.

    Returns:
        Whether all tasks ended by themselves, so that no call is in progress.
    """
    if tasks:
        await asyncio.wait(tasks, timeout=grace_seconds)
    unfinished = list(tasks)
    for task in unfinished:
        task.cancel()
    await asyncio.gather(*unfinished, return_exceptions=True)
    return not unfinished
