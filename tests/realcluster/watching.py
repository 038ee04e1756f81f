"""Counts what happens on the API server while somebody is at work, and when."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

from tests.realcluster import api_client

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BOUND_PODS = {"fieldSelector": "spec.nodeName!="}
"""The query of a watch on pods to which a pod is added when it is bound."""

_ADDED = b'{"type":"ADDED"'


class Watch:
    """A watch whose ADDED lines are counted in a thread of its own.

    Lines are not decoded, so counting costs next to nothing beside what is watched.

    Attributes:
        times: when each line arrived, by the monotonic clock.
    """

    def __init__(
        self,
        client: api_client.ApiClient,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        containing: bytes = b"",
        on_first: Callable[[], None] = lambda: None,
    ) -> None:
        """Watch the collection at `path` from now on.

        Args:
            client: whose connections are used.
            path: the collection.
            query: selectors.
            containing: what a line has to contain to count.
            on_first: called once, by the thread, when the first line has arrived.
        """
        self.times: list[float] = []
        self._containing = containing
        self._on_first = on_first
        version = client.get(path, limit="1")["metadata"]["resourceVersion"]
        self._answer = client.open(path, **(query or {}), watch="1", resourceVersion=version)
        self._thread = threading.Thread(target=self._count, daemon=True)

    def __enter__(self) -> Self:
        """Begin to count."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the stream."""
        self._answer.shutdown()
        self._thread.join()
        self._answer.close()

    def __len__(self) -> int:
        """Return how many lines there were so far."""
        return len(self.times)

    def _count(self) -> None:
        rest = b""
        try:
            for chunk in self._answer.stream(amt=None):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._count_line(line)
        except api_client.TransportError:
            pass  # the end of the stream; a measurement that lacks lines reports that itself

    def _count_line(self, line: bytes) -> None:
        if not line.startswith(_ADDED) or self._containing not in line:
            return
        self.times.append(time.monotonic())
        if len(self.times) == 1:
            self._on_first()
