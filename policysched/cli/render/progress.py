"""Progress of what takes longer than a second: for people at a terminal, gone at the end.

with progress.shown("scheduling pods", total=len(pods)) as bar:
    placements = [place(pod) for pod in bar.track(pods)]

It is on stderr, and nothing may be written there meanwhile, so print before or after. Where stderr
is no terminal, or one that cannot erase a line (TERM=dumb), nothing is shown at all.
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
    """How far something is; a thread reads it, so that work never waits for a terminal.

    Attributes:
        what: is going on, such as "scheduling pods".
        total: how many steps there are, None if nobody knows.
        done: how many are done.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what = what
        self.total = total
        self.done = 0

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done."""
        self.done += steps

    def begin_part(self, what: str, total: int | None = None) -> None:
        """Go over to another part of the work."""
        self.what, self.total, self.done = what, total, 0

    def track_items(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield the items and count each when the next one is asked for."""
        for item in items:
            yield item
            self.advance()


@contextlib.contextmanager
def show_progress(
    what: str, total: int | None = None, *, unless_printing: bool = False
) -> Iterator[ProgressBar]:
    """Show a bar from the first second on until the block ends, however it ends.

    `unless_printing` is for blocks that print to stdout as they go: no bar then if that is a
    terminal, where the output itself shows how far it is.
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
    """Show that input is read, but for what somebody types at the same terminal."""
    if can_show_progress() and "-" in paths and sys.stdin.isatty():
        return contextlib.nullcontext(ProgressBar(what))
    return show_progress(what)


def iterate_with_progress(
    items: Iterable[_Item], what: str, paths: Iterable[str] = ()
) -> Iterator[_Item]:
    """Yield items; show what is going on while one of them is awaited, and only then."""
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
    """Return whether progress can be shown: somebody looks, and a line can be erased again."""
    return sys.stderr.isatty() and not terminal.is_plain_terminal()


def _draw_when_due(bar: ProgressBar, over: threading.Event) -> None:
    if over.wait(DELAY_SECONDS):
        return
    from policysched.cli.render import progress_bar  # noqa: PLC0415 - most commands end within a second

    progress_bar.draw_progress_bar(bar, over)
