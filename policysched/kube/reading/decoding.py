"""Decode lists and watch streams of the API server into `cluster.objects`.

The fast path decodes many objects in one pass of msgspec, which skips fields that scheduling does
not use (above all managedFields). Only if that fails is each object decoded separately:

    null in place of a list or string     means absent, as in Go (nodes report `"names": null`)
    an object that does not fit its type  is logged and skipped
    values that are nested too deeply     are cut
    text that is not JSON                 is an UndecodableAnswerError: the stream is unusable
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from policysched.cluster.objects import objects, wire
from policysched.kube import errors
from policysched.kube.reading import deep_values

_logger = logging.getLogger(__name__)

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Limit of one line, so that an endless line cannot fill the memory. Events are shorter, because
etcd accepts at most 1.5 MiB for an object."""


class KubernetesObject(Protocol):
    """The fields that all kinds of objects have."""

    @property
    def metadata(self) -> objects.ObjectMeta:
        """Return `metadata`."""
        ...


T = TypeVar("T", bound=KubernetesObject)


class Upserted(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="MODIFIED"):
    """A watch event: the object is new or has changed."""

    object: T


class Added(Upserted[T], Generic[T], frozen=True, tag_field="type", tag="ADDED"):
    """A watch event: the object is new, or now matches the field selector."""


class Deleted(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="DELETED"):
    """A watch event: the object (its last state) was deleted or no longer matches the selector."""

    object: T


class ResourceVersionMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """The resource version in the metadata of an object."""

    resource_version: str = ""


class VersionedObject(msgspec.Struct, frozen=True):
    """An object of which only the resource version is decoded."""

    metadata: ResourceVersionMetadata = ResourceVersionMetadata()


class Bookmark(msgspec.Struct, frozen=True, tag_field="type", tag="BOOKMARK"):
    """A watch event: all changes up to this resource version have been sent."""

    object: VersionedObject


class WatchErrorEvent(msgspec.Struct, frozen=True, tag_field="type", tag="ERROR"):
    """A watch event with the reason why the server ends the stream."""

    object: errors.ApiStatus


class _UndecodableEvent(msgspec.Struct):
    """The fields that are decoded from a malformed event."""

    type: str = ""
    object: VersionedObject = VersionedObject()


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """`metadata` of a list."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _DecodedListPage(msgspec.Struct, Generic[T]):
    metadata: ListMeta
    items: list[T] | None = None


class _RawListPage(msgspec.Struct):
    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class ListPage(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list.

    Attributes:
        items: the objects.
        resource_version: the version from which a watch continues.
        continue_token: requests the next page; "" on the last page.
    """

    items: list[T]
    resource_version: str
    continue_token: str


Event: TypeAlias = Upserted[T] | Deleted[T] | Bookmark | WatchErrorEvent


class Decoder(Generic[T]):
    """Decodes pages and events of one kind.

    Attributes:
        skipped: number of objects that could not be decoded and were skipped.
    """

    def __init__(self, kind: type[T]) -> None:
        self.skipped = 0
        self._kind = kind
        self._page_decoder = msgspec.json.Decoder(_DecodedListPage[kind])  # type: ignore[valid-type]  # a type made at run time
        self._event_type = Added[kind] | Upserted[kind] | Deleted[kind] | Bookmark | WatchErrorEvent  # type: ignore[valid-type]  # as above
        self._event_decoder: msgspec.json.Decoder[Event[T]] = msgspec.json.Decoder(self._event_type)

    def decode_page(self, body: bytes) -> ListPage[T]:
        """Return one page of a list.

        Raises:
            UndecodableAnswerError: the body is not a JSON list of Kubernetes objects.
        """
        try:
            page = self._page_decoder.decode(body)
        except wire.UNREADABLE:
            return self._decode_page_singly(body)
        return ListPage(page.items or [], page.metadata.resource_version, page.metadata.continue_)

    def decode_events(self, lines: bytes) -> Sequence[Event[T]] | Iterator[Event[T]]:
        """Return the events in complete lines; return an iterator if the fast path fails.

        Raises:
            UndecodableAnswerError: a line is not JSON; the iterator raises it after the events
                before that line.
        """
        try:
            return self._event_decoder.decode_lines(lines)
        except wire.UNREADABLE:
            return self._decode_events_singly(lines)

    def _decode_events_singly(self, lines: bytes) -> Iterator[Event[T]]:
        """Decode each line separately, after the fast path has failed."""
        for line in lines.splitlines():
            if not line.strip():
                continue
            try:
                yield self._decode_event(line)
            except RecursionError:
                yield self._decode_event(deep_values.cut_deep_values(line))

    def _decode_event(self, line: bytes) -> Event[T]:
        try:
            return self._event_decoder.decode(line)
        except RecursionError:
            raise
        except msgspec.ValidationError as error:
            return self._decode_event_without_nulls(line, error)
        except wire.UNREADABLE as error:
            raise errors.UndecodableAnswerError(f"the watch stream is not JSON: {error}") from error

    def _decode_event_without_nulls(self, line: bytes, error: msgspec.ValidationError) -> Event[T]:
        """Decode an event without its nulls; if that fails, return a bookmark with its version."""
        try:
            event: Event[T] = msgspec.convert(_decode_without_nulls(line), self._event_type)
        except wire.UNREADABLE:
            return Bookmark(self._skip_undecodable_event(line, error))
        return event

    def _skip_undecodable_event(
        self, line: bytes, error: msgspec.ValidationError
    ) -> VersionedObject:
        """Count and log an event that cannot be decoded; return its resource version."""
        self.skipped += 1
        try:
            skimmed = msgspec.json.decode(line, type=_UndecodableEvent)
        except wire.UNREADABLE:
            raise errors.UndecodableAnswerError(
                f"the watch stream has no events: {error}"
            ) from error
        _logger.error(
            "skipping an event that cannot be decoded: %s of a %s: %s",
            skimmed.type,
            self._kind.__name__,
            error,
        )
        return skimmed.object

    def _decode_page_singly(self, body: bytes) -> ListPage[T]:
        """Decode each object separately, after the fast path has failed."""
        kind = self._kind.__name__
        try:
            page = _decode_raw_page(body)
        except wire.UNREADABLE as error:
            raise errors.UndecodableAnswerError(
                f"the answer is not a list of {kind}: {error}"
            ) from error
        items = [self._decode_or_skip_object(raw) for raw in page.items or ()]
        return ListPage(
            [one for one in items if one is not None],
            page.metadata.resource_version,
            page.metadata.continue_,
        )

    def _decode_or_skip_object(self, raw: msgspec.Raw) -> T | None:
        """Return the object, or count, log and skip it (None) if it cannot be decoded."""
        try:
            return decode_single_object(bytes(raw), self._kind)
        except errors.UndecodableAnswerError as error:
            self.skipped += 1
            _logger.error("skipping an object that cannot be decoded: %s", error)  # noqa: TRY400 - a traceback says nothing about the object
            return None


class _RawEvent(msgspec.Struct):
    object: msgspec.Raw


class TextKeepingDecoder(Decoder[T]):
    """A decoder that also passes on the texts of objects, which takes three times as long."""

    def __init__(self, kind: type[T], keep: Callable[[T, Callable[[], bytes]], None]) -> None:
        """Call `keep` with each object and a function that returns its JSON."""
        super().__init__(kind)
        self._keep = keep

    def decode_page(self, body: bytes) -> ListPage[T]:
        """Return one page of a list; see `Decoder.decode_page`."""
        return self._decode_page_singly(body)

    def decode_events(self, lines: bytes) -> Iterator[Event[T]]:
        """Return the events in complete lines; see `Decoder.decode_events`."""
        return self._decode_events_singly(lines)

    def _decode_event(self, line: bytes) -> Event[T]:
        event = super()._decode_event(line)
        if isinstance(event, Upserted):
            self._keep(event.object, lambda: _extract_object(line))
        return event

    def _decode_or_skip_object(self, raw: msgspec.Raw) -> T | None:
        found = super()._decode_or_skip_object(raw)
        if found is not None:
            self._keep(found, lambda: bytes(raw))
        return found


def _extract_object(line: bytes) -> bytes:
    """Return the JSON of the object of an event."""
    return bytes(msgspec.json.decode(line, type=_RawEvent).object)


def _decode_raw_page(body: bytes) -> _RawListPage:
    try:
        return msgspec.json.decode(body, type=_RawListPage)
    except RecursionError:
        return msgspec.json.decode(deep_values.cut_deep_values(body), type=_RawListPage)


def decode_single_object(body: bytes, kind: type[T]) -> T:
    """Decode one object.

    Raises:
        UndecodableAnswerError: the body does not have the form of this kind.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except RecursionError:
        body = deep_values.cut_deep_values(body)
    except wire.UNREADABLE:
        pass
    try:
        return msgspec.convert(_decode_without_nulls(body), kind)
    except wire.UNREADABLE as error:
        raise errors.UndecodableAnswerError(
            f"the answer is not a {kind.__name__}: {error}"
        ) from error


class LineSplitter:
    """Splits a stream of chunks into complete lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._rest_bytes = 0

    def feed_chunk(self, chunk: bytes) -> bytes:
        r"""Return all lines that `chunk` completes, as one block, or b"" without a complete line.

        >>> splitter = LineSplitter()
        >>> splitter.feed_chunk(b'{"a":')
        b''
        >>> splitter.feed_chunk(b'1}\n{"b":2}\n{"c"')
        b'{"a":1}\n{"b":2}\n'

        Raises:
            UndecodableAnswerError: an incomplete line exceeds MAX_LINE_BYTES.
        """
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._keep_partial_line(chunk)
            return b""
        block = b"".join((*self._rest, chunk[:end]))
        self._rest.clear()
        self._rest_bytes = 0
        self._keep_partial_line(chunk[end:])
        return block

    def _keep_partial_line(self, part: bytes) -> None:
        """Keep an incomplete line for the next chunk; limit its length."""
        if not part:
            return
        self._rest.append(part)
        self._rest_bytes += len(part)
        if self._rest_bytes > MAX_LINE_BYTES:
            raise errors.UndecodableAnswerError(
                f"a line of the watch stream exceeds {MAX_LINE_BYTES} bytes"
            )


def _decode_without_nulls(text: bytes) -> object:
    """Decode JSON without the object members that are null."""
    return _drop_null_members(msgspec.json.decode(text))


def _drop_null_members(value: object) -> object:
    match value:
        case dict():
            return {key: _drop_null_members(one) for key, one in value.items() if one is not None}
        case list():
            return [_drop_null_members(one) for one in value]
        case _:
            return value
