"""Finish the tasks of a loop, or cancel them after a timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any


async def finish_tasks(tasks: Collection[asyncio.Task[Any]], grace_seconds: float) -> bool:
    """Wait for the tasks, and cancel those that are still running after a timeout.

    Args:
        tasks: tasks to wait for; the collection can shrink during the call.
        grace_seconds: timeout.

    Returns:
        True if all tasks finished without being cancelled, so that no call is in progress.
    """
    if tasks:
        await asyncio.wait(tasks, timeout=grace_seconds)
    unfinished = list(tasks)
    for task in unfinished:
        task.cancel()
    await asyncio.gather(*unfinished, return_exceptions=True)
    return not unfinished
