"""Keeps a sink equal to a collection on the API server, by list and watch.

    run           for ever, trivially: `step` after `step`
    step          list if nothing is known yet, watch, and after a failure wait
    list_once     the whole collection, page by page, into `sink.replace`
    watch_once    one request: changes in order into `sink.upsert` and `sink.delete`

A watch continues from the resource version of the last event or bookmark, so nothing is missed
across reconnections. When the server cannot continue from there any more (410 Gone), or has refused
some times in a row, the collection is listed again; the sink finds the differences. Between two
batches of events other tasks run.

The sink is told in the order of the server, and never twice except by `replace`. Calls are
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
"""The server is asked to end a watch within these (client-go, tools/cache/reflector.go)."""

STALL_SECONDS = 90.0
"""Silence after which a watch is taken for dead: bookmarks come about once a minute
(`apiserver/pkg/storage/cacher`, defaultBookmarkFrequency); to ask again costs one request."""

RELIST_FAILURES = 6
"""So many failures in a row lead to a new list, if the server can be reached at all."""

_TOLD_FAILURES = 3
"""After these only each RELIST_FAILURES-th failure in a row is logged: once a minute."""

BACKOFF = backoff.Backoff(first_seconds=0.2, max_seconds=10.0)
_LIST_POLICY = client.CallRetryPolicy(
    timeout_seconds=60.0, max_attempts=1
)  # the reflector waits itself

T_contra = TypeVar("T_contra", contravariant=True)


class ReflectorSink(Protocol[T_contra]):
    """What a collection is reflected into."""

    def replace(self, objects: Sequence[T_contra], /) -> None:
        """Take these objects as the whole collection."""
        ...

    def upsert(self, obj: T_contra, /) -> None:
        """Take an object that is new or has changed."""
        ...

    def delete(self, obj: T_contra, /) -> None:
        """Forget an object, given in its last state."""
        ...


class Reflector(Generic[decoding.T]):
    """Reflects one resource into one sink.

    Attributes:
        resource: what is reflected.
        synced: set once the sink has got the whole collection.
        followed: set once a watch of it has begun.
        last_error: why the newest attempt failed, None while all is well.
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
        """Prepare; `run` does the work.

        Args:
            api: the connection.
            resource: what to reflect.
            sink: gets the objects.
            rng: spreads reconnections.
            sleep: how to wait.
            stall_seconds: silence after which a watch is taken for dead.
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
        self._listed = 0  # refreshes that the newest list has seen

    @property
    def skipped_count(self) -> int:
        """How many objects could not be understood and were passed over."""
        return self._decoder.skipped

    async def run(self) -> NoReturn:
        """Reflect until cancelled."""
        while True:
            await self.list_or_watch_once()

    async def relist(self) -> None:
        """List anew; return once the sink has got a collection that is not older than this call.

        `run` must be running. A watch may be behind, or dead without our knowing it yet.
        """
        self.synced.clear()
        self._refreshes += 1
        if not self._interruption.expired():  # else the next step begins at once
            self._interruption.reschedule(asyncio.get_running_loop().time())
        await self.synced.wait()

    async def list_or_watch_once(self) -> None:
        """List if that is needed, watch until the watch ends, wait if it ended badly."""
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
            # Where the server has no news it sends no bookmarks either, if etcd tells it of no
            # progress. So it is no failure, or the next change would be waited for.
            self.last_error = None
            _logger.debug("%s: silent for long, watching anew", self.resource.name)
        except errors.KubeError as error:
            await self._plan_recovery(error)
        else:
            self.last_error = None

    async def list_once(self) -> None:
        """Give the whole collection to the sink.

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
        if refreshes == self._refreshes:  # else this one was asked for too early
            self.synced.set()

    async def watch_once(self) -> None:
        """Give changes to the sink until the server ends the watch.

        Raises:
            GoneError: the server cannot continue from where we are.
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
                await asyncio.sleep(0)  # a stream that never runs dry would not let others run
        if not has_brought_anything:  # not even a bookmark: do not ask again at once
            raise errors.UndecodableAnswerError("the watch ended before it brought anything")

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
        """Decide what the next step starts with, and when."""
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
        _logger.log(
            level, "%s: trying again in %.1f s: %s", self.resource.name, wait_seconds, error
        )
        await self._sleep(wait_seconds)
