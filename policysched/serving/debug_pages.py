"""Pages below /debug/ about the running process; all of them require authorization.

Components of `run` add their own pages. No page contains a secret.
"""

from __future__ import annotations

import asyncio
import gc
import io
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from policysched.config import config, config_printing
from policysched.serving import http_server

ROOT = "/debug/"
_STACK_FRAMES = 8


def make_debug_pages(
    configuration: config.Config, others: Mapping[str, http_server.MakePage]
) -> dict[str, http_server.MakePage]:
    """Return the pages keyed by path, including an index of these pages and of `others`."""
    made: dict[str, http_server.MakePage] = {
        "/debug/config": lambda _: _make_text_page(
            config_printing.format_config_yaml(configuration)
        ),
        "/debug/memory": lambda _: http_server.make_json_page(make_memory_report()),
        "/debug/tasks": lambda _: _make_text_page(make_task_stacks_report()),
    }
    made[ROOT] = lambda _: _make_index_page([*made, *others])
    return made


def make_memory_report() -> dict[str, Any]:
    """Return the memory use of the process as the kernel and the garbage collector report it."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
    kernel = dict(line.split(":", 1) for line in status.splitlines() if line.startswith("Vm"))
    return {
        "process": {key: text.strip() for key, text in kernel.items()},
        "collector": {
            "generations": gc.get_stats(),
            "counts": gc.get_count(),
            "thresholds": gc.get_threshold(),
            "frozen": gc.get_freeze_count(),
        },
    }


def make_task_stacks_report() -> str:
    """Return the stack of every task of the event loop."""
    found = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    text = io.StringIO()
    text.write(f"{len(found)} tasks\n")
    for task in found:
        text.write("\n")
        task.print_stack(limit=_STACK_FRAMES, file=text)
    return text.getvalue()


def _make_index_page(paths: Iterable[str]) -> http_server.HttpPage:
    below = sorted(path for path in paths if path.startswith(ROOT) and path != ROOT)
    return _make_text_page("\n".join(below) + "\n")


def _make_text_page(text: str) -> http_server.HttpPage:
    return http_server.HttpPage(text.encode())
