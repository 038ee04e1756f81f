"""Keep a sink equal to a collection on the API server, by list and watch.

    run                 `list_or_watch_once`, repeated until cancelled
    list_or_watch_once  list if necessary, watch, and wait after a failure
    list_once           the whole collection, page by page, into `sink.replace`
    watch_once          one request: changes in order into `sink.upsert` and `sink.delete`

A watch continues from the resource version of the last event or bookmark, so reconnections lose no
change. The collection is listed again if the server cannot continue from that version (410 Gone),
or after RELIST_FAILURES failures in a row; the sink finds the differences. Other tasks can run
between two batches of events.

The sink receives changes in the order of the server, each once; only `replace` repeats objects.
Calls are synchronous; an exception from the sink is a bug and ends `run`.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterable, Sequence
from typing import Generic, NoReturn, Protocol, TypeVar, assert_never

from policysched import backoff
from policysched.kube import errors
from policysched.kube.http import client
from policysched.kube.reading import decoding, listing, resources

_logger = logging.getLogger(__name__)

MIN_WATCH_SECONDS = 300
MAX_WATCH_SECONDS = 600
"""The server must end a watch after a time between these (client-go, tools/cache/reflector.go)."""

STALL_SECONDS = 90.0
"""Silence after which a watch counts as dead. Bookmarks come about once a minute
(`apiserver/pkg/storage/cacher`, defaultBookmarkFrequency), and a new watch costs one request."""

RELIST_FAILURES = 6
"""Each time so many failures in a row are reached, the collection is listed again, unless the
newest failure is a TransportError."""

_TOLD_FAILURES = 3
"""So many failures in a row are logged as warnings, then only each RELIST_FAILURES-th one, which is
about once a minute."""

BACKOFF = backoff.Backoff(first_seconds=0.2, max_seconds=10.0)
_LIST_POLICY = client.CallRetryPolicy(
    timeout_seconds=60.0, max_attempts=1
)  # the reflector itself waits and retries

T_contra = TypeVar("T_contra", contravariant=True)


class ReflectorSink(Protocol[T_contra]):
    """The receiver of the objects of a collection."""

    def replace(self, objects: Sequence[T_contra], /) -> None:
        """Replace the whole collection with these objects."""
        ...

    def upsert(self, obj: T_contra, /) -> None:
        """Add an object, or replace its earlier state."""
        ...

    def delete(self, obj: T_contra, /) -> None:
        """Remove an object, given in its last state."""
        ...


class Reflector(Generic[decoding.T]):
    """Reflects one resource into one sink.

    Attributes:
        resource: the reflected resource.
        synced: set once the sink has received the whole collection.
        followed: set once a watch has begun.
        last_error: why the newest attempt failed, None after a success.
    """

    def __init__(
        self,
        api: client.ApiClient,
        resource: resources.ApiResource[decoding.T],
        sink: ReflectorSink[decoding.T],
        *,
        rng: random.Random,
        sleep: client.Sleep = asyncio.sleep,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        """Create a reflector that does nothing until `run` is called.

        Args:
            api: the client.
            resource: the resource to reflect.
            sink: receives the objects.
            rng: spreads reconnections.
            sleep: waits for a number of seconds.
            stall_seconds: silence after which a watch counts as dead.
        """
        self.resource = resource
        self.synced = asyncio.Event()
        self.followed = asyncio.Event()
        self.last_error: errors.KubeError | None = None
        self._api = api
        self._sink = sink
        self._rng = rng
        self._sleep = sleep
        self._stall_seconds = stall_seconds
        self._decoder = decoding.Decoder(resource.kind)
        self._resource_version = ""
        self._failures = 0
        self._interruption = asyncio.timeout(None)
        self._refreshes = 0
        self._listed = 0  # value of `_refreshes` when the newest list began

    @property
    def skipped_count(self) -> int:
        """Return how many objects could not be decoded and were skipped."""
        return self._decoder.skipped

    async def run(self) -> NoReturn:
        """Reflect until cancelled."""
        while True:
            await self.list_or_watch_once()

    async def relist(self) -> None:
        """List again; return once the sink has a collection that is not older than this call.

        `run` must be running. Use it if the watch may be late, or dead without having been noticed.
        """
        self.synced.clear()
        self._refreshes += 1
        if not self._interruption.expired():  # else the next list begins at once
            self._interruption.reschedule(asyncio.get_running_loop().time())
        await self.synced.wait()

    async def list_or_watch_once(self) -> None:
        """List if necessary, watch until the watch ends, and wait if it ended with a failure."""
        try:
            async with asyncio.timeout(None) as self._interruption:
                await self._list_and_watch()
        except TimeoutError:
            if not self._interruption.expired():
                raise

    async def _list_and_watch(self) -> None:
        try:
            while not self._resource_version or self._listed != self._refreshes:
                await self.list_once()
            await self.watch_once()
        except errors.StalledStreamError:
            # Silence is not a failure: without changes the server sends no bookmarks either, unless
            # etcd notifies it of progress. A pause here would delay the next change.
            self.last_error = None
            _logger.debug("%s: no events for a long time, watching again", self.resource.name)
        except errors.KubeError as error:
            await self._plan_recovery(error)
        else:
            self.last_error = None

    async def list_once(self) -> None:
        """Pass the whole collection to the sink.

        Raises:
            KubeError: it could not be read; the sink was not called.
        """
        refreshes = self._refreshes
        page = await listing.list_all_pages(
            self._api, self.resource, self._decoder, policy=_LIST_POLICY
        )
        self._sink.replace(page.items)
        self._resource_version = page.resource_version
        self._listed = refreshes
        if refreshes == self._refreshes:  # else the list began before the newest `relist` call
            self.synced.set()

    async def watch_once(self) -> None:
        """Pass changes to the sink until the server ends the watch.

        Raises:
            ResourceVersionGoneError: the server cannot continue from the current resource version.
            KubeError: the watch did not begin, was cut, or stalled.
        """
        path = self.resource.make_watch_path(
            resource_version=self._resource_version,
            timeout_seconds=self._rng.randint(MIN_WATCH_SECONDS, MAX_WATCH_SECONDS),
        )
        has_brought_anything = False
        splitter = decoding.LineSplitter()
        async with self._api.open_stream(path, stall_seconds=self._stall_seconds) as chunks:
            self.followed.set()
            async for chunk in chunks:
                lines = splitter.feed_chunk(chunk)
                if lines:
                    has_brought_anything = True
                    self._dispatch_events(self._decoder.decode_events(lines))
                await asyncio.sleep(0)  # let other tasks run although data is always available
        if not has_brought_anything:  # not even a bookmark: fail, so that the next request waits
            raise errors.UndecodableAnswerError("the watch ended without an event")

    def _dispatch_events(self, events: Iterable[decoding.Event[decoding.T]]) -> None:
        sink = self._sink
        for event in events:
            match event:
                case decoding.Upserted():
                    sink.upsert(event.object)
                    self._resource_version = event.object.metadata.resource_version
                case decoding.Deleted():
                    sink.delete(event.object)
                    self._resource_version = event.object.metadata.resource_version
                case decoding.Bookmark():
                    version = event.object.metadata.resource_version
                    self._resource_version = version or self._resource_version
                case decoding.WatchErrorEvent():
                    raise errors.from_status(event.object)
                case _:
                    assert_never(event)
        self._failures = 0
        self.last_error = None

    async def _plan_recovery(self, error: errors.KubeError) -> None:
        """Decide whether to list again, log the failure, and wait before the next attempt."""
        self.last_error = error
        self._failures += 1
        is_gone = isinstance(error, errors.ResourceVersionGoneError)
        is_answered = not isinstance(error, errors.TransportError)
        if is_gone or (is_answered and self._failures % RELIST_FAILURES == 0):
            self._resource_version = ""
        if is_gone and self._failures == 1:
            _logger.info("listing %s again: %s", self.resource.name, error)
            return
        wait_seconds = BACKOFF.compute_wait_seconds(self._failures, self._rng)
        is_told = self._failures <= _TOLD_FAILURES or self._failures % RELIST_FAILURES == 0
        level = logging.WARNING if is_told else logging.DEBUG
        _logger.log(level, "%s: retrying in %.1f s: %s", self.resource.name, wait_seconds, error)
        await self._sleep(wait_seconds)
