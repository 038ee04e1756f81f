"""Waits until the watch has shown what was written.

An API server begins a write with the object that its watch cache has. Where that does not know the
write before yet it does everything twice, as the first try conflicts in etcd
(`apiserver/pkg/storage/etcd3/store.go`, GuaranteedUpdate): with many bindings being written at once
that is nearly every second patch. What a watch has brought, the cache knows.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from policysched.karmada import objects
    from policysched.kube.reading import reflector

LIMIT_SECONDS: Final = 5.0
LEAST_SECONDS: Final = 0.5
"""How long a watch is waited for: less and less while it is further behind, as one that is cut is;
then writes do without. With 64 bindings at once the least time holds no API server up."""


class _AdaptiveTimeout:
    """How long to wait, as it went with those who waited before."""

    def __init__(self) -> None:
        self.seconds = LIMIT_SECONDS

    def record_success(self) -> None:
        self.seconds = min(2 * self.seconds, LIMIT_SECONDS)

    def record_timeout(self, seconds: float) -> None:
        """Take in that somebody has waited so long; of those who did so at once one counts."""
        if seconds <= self.seconds:
            self.seconds = max(seconds / 2, LEAST_SECONDS)


class WriteAcknowledgement:
    """The versions of a binding that the watch brings while it is being written."""

    def __init__(self, patience: _AdaptiveTimeout) -> None:
        """Begin with none."""
        self._patience = patience
        self._versions: set[str] = set()
        self._news = asyncio.Event()

    def add_version(self, version: str) -> None:
        """Note a version that was shown."""
        self._versions.add(version)
        self._news.set()

    async def wait_for_version(self, version: str) -> None:
        """Return when the version has been shown, or patience has ended."""
        limit_seconds = self._patience.seconds
        try:
            async with asyncio.timeout(limit_seconds):
                while version not in self._versions:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            self._patience.record_timeout(limit_seconds)
        else:
            self._patience.record_success()


class WriteAcknowledgements:
    """What the watches of bindings show of those that are being written."""

    def __init__(self) -> None:
        """Begin with nothing being written."""
        self._patience = _AdaptiveTimeout()
        self._by_uid: dict[str, WriteAcknowledgement] = {}

    @property
    def timeout_seconds(self) -> float:
        """How long a watch is waited for now."""
        return self._patience.seconds

    @contextlib.contextmanager
    def track_written_binding(self, binding: objects.Binding) -> Iterator[WriteAcknowledgement]:
        """Note what is shown of a binding, which nobody else writes meanwhile."""
        echo = self._by_uid[binding.metadata.uid] = WriteAcknowledgement(self._patience)
        try:
            yield echo
        finally:
            self._by_uid.pop(binding.metadata.uid, None)

    def wrap_sink(
        self, sink: reflector.ReflectorSink[objects.Binding]
    ) -> reflector.ReflectorSink[objects.Binding]:
        """Return a sink that hands everything on, and notes what is shown."""
        return _AcknowledgingSink(sink, self)

    def record_version(self, binding: objects.Binding) -> None:
        """Note what a watch has shown."""
        echo = self._by_uid.get(binding.metadata.uid)
        if echo is not None:
            echo.add_version(binding.metadata.resource_version)


class _AcknowledgingSink:
    def __init__(
        self, sink: reflector.ReflectorSink[objects.Binding], echoes: WriteAcknowledgements
    ) -> None:
        self._sink = sink
        self._echoes = echoes

    def replace(self, bindings: Sequence[objects.Binding]) -> None:
        self._sink.replace(bindings)
        for binding in bindings:
            self._echoes.record_version(binding)

    def upsert(self, binding: objects.Binding) -> None:
        self._sink.upsert(binding)
        self._echoes.record_version(binding)

    def delete(self, binding: objects.Binding) -> None:
        self._sink.delete(binding)
