"""Draws the progress bar: current work, bar, finished and total steps, elapsed time."""

from __future__ import annotations

import contextlib
import threading
from typing import Protocol

from rich import console, progress, progress_bar

_REDRAW_SECONDS = 0.1


class ProgressState(Protocol):
    """The state to draw, such as a `policysched.cli.render.progress.ProgressBar`."""

    what: str
    total: int | None
    done: int


class _CursorKeepingConsole(console.Console):
    """A console that does not hide the cursor, because a killed process could not restore it."""

    def show_cursor(self, show: bool = True) -> bool:  # noqa: FBT001, FBT002 - the signature is rich's
        return False


class _ProgressBarColumn(progress.BarColumn):
    """A bar; empty if the total is unknown."""

    def render(self, task: progress.Task) -> progress_bar.ProgressBar:
        found = super().render(task)
        found.width = found.width if task.total else 0
        return found


class _StepCountColumn(progress.ProgressColumn):
    """`120/3,000`; if the total is unknown, `120`, or nothing before the first step."""

    def render(self, task: progress.Task) -> str:
        if task.total is None:
            return f"{task.completed:,.0f}" if task.completed else ""
        return f"{task.completed:,.0f}/{task.total:,.0f}"


def draw_progress_bar(work: ProgressState, over: threading.Event) -> None:
    """Draw a bar until `over` is set, then erase it."""
    with contextlib.suppress(OSError), _make_rich_progress() as drawn:  # the terminal may disappear
        task = drawn.add_task(work.what, total=work.total)
        while True:
            if drawn.tasks[0].description != work.what:
                drawn.reset(task)
            drawn.update(task, description=work.what, total=work.total, completed=work.done)
            drawn.refresh()
            if over.wait(_REDRAW_SECONDS):
                return


def _make_rich_progress() -> progress.Progress:
    """Return rich's progress display on stderr, which is redrawn only on request."""
    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        _ProgressBarColumn(bar_width=30),
        _StepCountColumn(),
        progress.TimeElapsedColumn(),
        console=_CursorKeepingConsole(stderr=True, highlight=False),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,  # rich would send stdout to the terminal, even if it is redirected
        redirect_stderr=False,
    )
