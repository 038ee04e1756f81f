"""Wait until the watch has shown a write of this process.

An API server bases a write on the object in its watch cache. If the cache does not have the
previous write yet, the first attempt conflicts in etcd and the server repeats it
(`apiserver/pkg/storage/etcd3/store.go`, GuaranteedUpdate). With many concurrent writes of bindings,
this affects nearly every second patch. The cache has every change that a watch has shown.
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
"""Limits on the wait for a watch. While a watch is late, for example after it was cut off, the wait
becomes shorter. After the wait, the next write is sent regardless. With 64 concurrent bindings, the
shortest wait has no noticeable effect on throughput."""


class _AdaptiveTimeout:
    """The maximum wait, adapted to the success of earlier waits."""

    def __init__(self) -> None:
        self.seconds = LIMIT_SECONDS

    def record_success(self) -> None:
        self.seconds = min(2 * self.seconds, LIMIT_SECONDS)

    def record_timeout(self, seconds: float) -> None:
        """Halve the wait after a timeout; several concurrent timeouts count as one."""
        if seconds <= self.seconds:
            self.seconds = max(seconds / 2, LEAST_SECONDS)


class ShownBindingVersions:
    """The versions of a binding that the watch shows while the binding is being written."""

    def __init__(self, patience: _AdaptiveTimeout) -> None:
        """Start without versions."""
        self._patience = patience
        self._versions: set[str] = set()
        self._news = asyncio.Event()

    def add_version(self, version: str) -> None:
        """Record a version that the watch has shown."""
        self._versions.add(version)
        self._news.set()

    async def wait_for_version(self, version: str) -> None:
        """Wait until the watch has shown the version, or the adaptive timeout expires."""
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
    """The acknowledgements of all bindings that are being written."""

    def __init__(self) -> None:
        """Start without bindings."""
        self._patience = _AdaptiveTimeout()
        self._by_uid: dict[str, ShownBindingVersions] = {}

    @property
    def timeout_seconds(self) -> float:
        """The current maximum wait for a watch."""
        return self._patience.seconds

    @contextlib.contextmanager
    def track_written_binding(self, binding: objects.Binding) -> Iterator[ShownBindingVersions]:
        """Record the shown versions of a binding; no other task may write it in this context."""
        echo = self._by_uid[binding.metadata.uid] = ShownBindingVersions(self._patience)
        try:
            yield echo
        finally:
            self._by_uid.pop(binding.metadata.uid, None)

    def wrap_sink(
        self, sink: reflector.ReflectorSink[objects.Binding]
    ) -> reflector.ReflectorSink[objects.Binding]:
        """Return a sink that passes objects to `sink` and records their versions."""
        return _VersionRecordingSink(sink, self)

    def record_version(self, binding: objects.Binding) -> None:
        """Record a version that a watch has shown."""
        echo = self._by_uid.get(binding.metadata.uid)
        if echo is not None:
            echo.add_version(binding.metadata.resource_version)


class _VersionRecordingSink:
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
