"""Keep a sink in sync with a collection on the API server through list and watch.

    run                 `list_or_watch_once`, repeated until cancelled
    list_or_watch_once  list if necessary, watch, and wait after a failure
    list_once           the whole collection, page by page, into `sink.replace`
    watch_once          one watch: changes in order into `sink.upsert` and `sink.delete`

A watch continues from the resource version of the last event or bookmark, so reconnections lose no
change. The collection is listed again if the server cannot continue from that version (410 Gone),
or after RELIST_FAILURES failures in a row; the sink computes the differences. Other tasks can run
between two batches of events.

The sink receives each change once, in the server's order; only `replace` repeats objects. Calls are
synchronous; an exception from the sink is a bug and ends `run`.
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
"""Upper bound of the random watch timeout (client-go, tools/cache/reflector.go)."""

STALL_SECONDS = 90.0
"""Silence after which a watch counts as dead. Bookmarks arrive about once a minute
(`apiserver/pkg/storage/cacher`, defaultBookmarkFrequency), and a new watch costs one request."""

RELIST_FAILURES = 6
"""Number of failures in a row after which the collection is listed again, unless the last failure
is a TransportError."""

UNSERVED_SECONDS = 60.0
"""Pause before an optional resource is listed again that the server does not serve."""

_TOLD_FAILURES = 3
"""Number of failures in a row that are logged as warnings. After that, only every
RELIST_FAILURES-th failure is logged, about once a minute."""

BACKOFF = backoff.Backoff(first_seconds=0.2, max_seconds=10.0)
_LIST_POLICY = client.CallRetryPolicy(
    timeout_seconds=60.0, max_attempts=1
)  # the reflector waits and retries by itself

T_contra = TypeVar("T_contra", contravariant=True)


class ReflectorSink(Protocol[T_contra]):
    """Receives the objects of a collection."""

    def replace(self, objects: Sequence[T_contra], /) -> None:
        """Replace the whole content with `objects`."""
        ...

    def upsert(self, obj: T_contra, /) -> None:
        """Add an object, or replace its earlier state."""
        ...

    def delete(self, obj: T_contra, /) -> None:
        """Remove an object; `obj` is its last state."""
        ...


class Reflector(Generic[decoding.T]):
    """Keeps one sink in sync with one resource.

    Attributes:
        resource: the reflected resource.
        synced: set once the sink has received the whole collection.
        followed: set once a watch has begun.
        last_error: the failure of the last attempt, or None after a success.
    """

    def __init__(  # noqa: PLR0913 - the parts of a watch, and those that tests replace
        self,
        api: client.ApiClient,
        resource: resources.ApiResource[decoding.T],
        sink: ReflectorSink[decoding.T],
        *,
        rng: random.Random,
        sleep: client.Sleep = asyncio.sleep,
        stall_seconds: float = STALL_SECONDS,
        decoder: decoding.Decoder[decoding.T] | None = None,
    ) -> None:
        """Create a reflector that does nothing until `run` is called.

        Args:
            api: sends the requests.
            resource: the resource to list and watch.
            sink: receives the objects.
            rng: randomises watch timeouts and pauses.
            sleep: waits for a number of seconds.
            stall_seconds: silence after which a watch counts as dead.
            decoder: decodes the objects; None for one that only decodes.
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
        self._decoder = decoding.Decoder(resource.kind) if decoder is None else decoder
        self._resource_version = ""
        self._failures = 0
        self._interruption = asyncio.timeout(None)
        self._refreshes = 0
        self._listed = 0  # value of `_refreshes` when the last list began

    @property
    def skipped_count(self) -> int:
        """Return the number of objects skipped because they could not be decoded."""
        return self._decoder.skipped

    async def run(self) -> NoReturn:
        """List and watch until cancelled."""
        while True:
            await self.list_or_watch_once()

    async def relist(self) -> None:
        """List again; return once the sink has a collection at least as new as this call.

        `run` must be running. Use this if the watch may be late, or dead but not yet detected as
        dead.
        """
        self.synced.clear()
        self._refreshes += 1
        if not self._interruption.expired():  # otherwise the next list begins immediately
            self._interruption.reschedule(asyncio.get_running_loop().time())
        await self.synced.wait()

    async def list_or_watch_once(self) -> None:
        """List if necessary, watch until the watch ends, and wait after a failure."""
        try:
            async with asyncio.timeout(None) as self._interruption:
                await self._list_and_watch()
        except TimeoutError:
            if not self._interruption.expired():
                raise

    async def _list_and_watch(self) -> None:
        """List until no `relist` call is pending, then watch; handle every KubeError."""
        try:
            while not self._resource_version or self._listed != self._refreshes:
                await self.list_once()
            await self.watch_once()
        except errors.StalledStreamError:
            # Silence is not a failure: without changes the server sends no bookmarks unless etcd
            # notifies it of progress. A pause here would delay the next change.
            self.last_error = None
            _logger.debug("%s: no events for a long time, watching again", self.resource.name)
        except errors.NotFoundError as error:
            if self.resource.is_optional:
                await self._wait_for_api()
            else:
                await self._recover_from_failure(error)
        except errors.KubeError as error:
            await self._recover_from_failure(error)
        else:
            self.last_error = None

    async def _wait_for_api(self) -> None:
        """Take the collection for empty, because the server does not serve it; wait a while."""
        if not self.synced.is_set():
            _logger.info("%s: the API server does not serve them", self.resource.name)
        self._sink.replace([])
        self._resource_version = ""
        self._failures = 0
        self._listed = self._refreshes
        self.last_error = None
        self.synced.set()
        self.followed.set()
        await self._sleep(UNSERVED_SECONDS)

    async def list_once(self) -> None:
        """Pass the whole collection to the sink.

        Raises:
            KubeError: the collection could not be read; the sink was not called.
        """
        refreshes = self._refreshes
        page = await listing.list_all_pages(
            self._api, self.resource, self._decoder, policy=_LIST_POLICY
        )
        self._sink.replace(page.items)
        self._resource_version = page.resource_version
        self._listed = refreshes
        if refreshes == self._refreshes:  # otherwise the list began before the last `relist` call
            self.synced.set()

    async def watch_once(self) -> None:
        """Pass changes to the sink until the server ends the watch.

        Raises:
            ResourceVersionGoneError: the server cannot continue from the current resource version.
            KubeError: the watch did not begin, was cut off, or stalled.
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
                await asyncio.sleep(0)  # yield to other tasks, even if data is always available
        if not has_brought_anything:  # not even a bookmark: fail, to delay the next request
            raise errors.UndecodableAnswerError("the watch ended without an event")

    def _dispatch_events(self, events: Iterable[decoding.Event[decoding.T]]) -> None:
        """Pass events to the sink and record the resource version of each."""
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

    async def _recover_from_failure(self, error: errors.KubeError) -> None:
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
