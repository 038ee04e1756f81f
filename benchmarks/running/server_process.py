"""A server in a separate process, whose CPU time is not that of the measured process."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing import connection


@contextlib.contextmanager
def run_server(serve: Callable[..., None], *args: object) -> Iterator[str]:
    """Yield the URL that a server sends from its process.

    Args:
        serve: a function of a module. It is called with a pipe and `args`, sends its URL through
            the pipe, and returns after `wait_for_end`.
        args: what can be pickled.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs, *args), daemon=True)
    server.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        server.join()


def wait_for_end(pipe: connection.Connection) -> None:
    """Wait until the other end of the pipe sends anything or closes."""
    with contextlib.suppress(EOFError):
        pipe.recv()
