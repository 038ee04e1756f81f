"""Counts what happens on the API server while somebody is at work."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from typing import TYPE_CHECKING, Self

from tests.realcluster import api_client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import urllib3

BOUND_PODS = {"fieldSelector": "spec.nodeName!="}
"""The query of a watch on pods to which a pod is added when it is bound."""

_ERROR = b'{"type":"ERROR"'
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
_PAUSE_SECONDS = 0.1


class WatchError(Exception):
    """The watch has an end; the text is what the server said."""


class Watch:
    """A watch whose lines of one type are counted in a thread of its own; `len` says how many.

    Lines are not decoded, so counting costs next to nothing beside what is watched. The API server
    cuts watches that it has no time for when it is loaded; counting goes on where it was cut. That
    is not possible after a restart of the server, which forgets what was before.
    """

    def __init__(
        self,
        client: api_client.ApiClient,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        counted: str = "ADDED",
        on_first: Callable[[], None] = lambda: None,
    ) -> None:
        """Watch the collection at `path` from now on.

        Args:
            client: whose connections are used.
            path: the collection.
            query: selectors.
            counted: the type of the lines that count.
            on_first: called once, by the thread, when the first of them has arrived.
        """
        self._client = client
        self._path = path
        self._query = dict(query or {})
        self._beginning = b'{"type":"%s"' % counted.encode()
        self._on_first = on_first
        self._count = 0
        self._error: str | None = None
        self._version: str = client.get(path, limit="1")["metadata"]["resourceVersion"]
        self._stream: urllib3.BaseHTTPResponse | None = None
        self._is_ended = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin to count."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the stream and the thread."""
        with self._lock:
            self._is_ended = True
            if self._stream is not None:
                with contextlib.suppress(RuntimeError):  # the server has ended it
                    self._stream.shutdown()
        self._thread.join()

    def __len__(self) -> int:
        """Return how many lines there were so far.

        Raises:
            WatchError: the server could not say what came next.
        """
        if self._error is not None:
            raise WatchError(self._error)
        return self._count

    def _run(self) -> None:
        while True:
            try:
                with self._lock:
                    if self._is_ended or self._error is not None:
                        return
                    self._stream = self._open()
                for line in _lines(self._stream):
                    self._take(line)
            except api_client.TransportError:
                time.sleep(_PAUSE_SECONDS)

    def _open(self) -> urllib3.BaseHTTPResponse:
        return self._client.open(
            self._path, **self._query, watch="1", resourceVersion=self._version
        )

    def _take(self, line: bytes) -> None:
        if line.startswith(_ERROR):
            self._error = line.decode()
            return
        version = _VERSION.search(line)
        if version is not None:
            self._version = version[1].decode()
        if line.startswith(self._beginning):
            self._count += 1
            if self._count == 1:
                self._on_first()


def _lines(stream: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    with contextlib.closing(stream):
        for chunk in stream.stream(amt=None):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
