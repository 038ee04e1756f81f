"""Shows the progress of work that takes longer than a second; erases it at the end.

with progress.show_progress("scheduling pods", total=len(pods)) as bar:
    placements = [place(pod) for pod in bar.track_items(pods)]

The bar is on stderr. While it is shown, nothing else may be printed to stderr. There is no bar if
stderr is not a terminal, or if the terminal cannot erase a line (TERM=dumb).
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

from policysched.cli.render import terminal

_Item = TypeVar("_Item")

DELAY_SECONDS = 1.0


class ProgressBar:
    """The state of some work; a thread draws it, so that the work never waits for a terminal.

    Attributes:
        what: the current work, such as "scheduling pods".
        total: the number of steps; None if it is unknown.
        done: the number of finished steps.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what = what
        self.total = total
        self.done = 0

    def advance(self, steps: int = 1) -> None:
        """Count finished steps."""
        self.done += steps

    def begin_part(self, what: str, total: int | None = None) -> None:
        """Begin another part of the work and reset the count of steps."""
        self.what, self.total, self.done = what, total, 0

    def track_items(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield the items; count each item when the next item is requested."""
        for item in items:
            yield item
            self.advance()


@contextlib.contextmanager
def show_progress(
    what: str, total: int | None = None, *, unless_printing: bool = False
) -> Iterator[ProgressBar]:
    """Show a bar, after the first second, until the block ends or raises an exception.

    `unless_printing` is for blocks that print to stdout continually. If stdout is a terminal, there
    is no bar, because the output itself shows the progress.
    """
    bar = ProgressBar(what, total)
    if not can_show_progress() or (unless_printing and sys.stdout.isatty()):
        yield bar
        return
    over = threading.Event()
    thread = threading.Thread(target=_draw_when_due, args=(bar, over), name="progress", daemon=True)
    thread.start()
    try:
        yield bar
    finally:
        over.set()
        thread.join()


def show_reading_progress(
    what: str, paths: Iterable[str] = ()
) -> contextlib.AbstractContextManager[ProgressBar]:
    """Show that input is being read, unless the user types it on the same terminal."""
    if can_show_progress() and "-" in paths and sys.stdin.isatty():
        return contextlib.nullcontext(ProgressBar(what))
    return show_progress(what)


def iterate_with_progress(
    items: Iterable[_Item], what: str, paths: Iterable[str] = ()
) -> Iterator[_Item]:
    """Yield items; show progress only while waiting for an item."""
    listed = tuple(paths)
    iterator = iter(items)
    while True:
        with show_reading_progress(what, listed):
            try:
                item = next(iterator)
            except StopIteration:
                return
        yield item


def can_show_progress() -> bool:
    """Return whether progress can be shown: stderr is a terminal that can erase a line."""
    return sys.stderr.isatty() and not terminal.is_dumb_terminal()


def _draw_when_due(bar: ProgressBar, over: threading.Event) -> None:
    if over.wait(DELAY_SECONDS):
        return
    from policysched.cli.render import progress_bar  # noqa: PLC0415 - most commands end within a second

    progress_bar.draw_progress_bar(bar, over)
