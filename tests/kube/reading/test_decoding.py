"""Bytes of the API server to objects."""

from __future__ import annotations

import itertools
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.cluster.objects import objects
from policysched.kube import errors
from policysched.kube.reading import decoding, deep_values, resources
from tests.kube import fake_server
from tests.kube.fake_server import line

POD = {
    "metadata": {
        "name": "a",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": None,
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:containers": {}}}}],
    },
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    "status": {"phase": "Pending"},
}

# As kube-apiserver writes it: an empty pod, with null where Go has a nil slice.
POD_BOOKMARK = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "12746", "creationTimestamp": None},
    "spec": {"containers": None},
    "status": {},
}


def pod_events(lines: bytes) -> list[decoding.Event[objects.Pod]]:
    """Return the events in these lines."""
    return list(decoding.Decoder(objects.Pod).decode_events(lines))


@given(
    lines=st.lists(st.binary(max_size=30).filter(lambda text: b"\n" not in text), max_size=8),
    rest=st.binary(max_size=10).filter(lambda text: b"\n" not in text),
    cuts=st.lists(st.integers(0, 300), max_size=12),
)
def test_chunks_may_end_anywhere(lines: list[bytes], rest: bytes, cuts: list[int]) -> None:
    """However a stream is cut into chunks, the same whole lines come out, and no part of one."""
    text = b"".join(one + b"\n" for one in lines)
    stream = text + rest
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    splitter = decoding.LineSplitter()
    blocks = [splitter.feed_chunk(stream[a:b]) for a, b in itertools.pairwise(bounds) if a < b]
    assert b"".join(blocks) == text
    assert all(block.endswith(b"\n") for block in blocks if block)


def test_a_line_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream without newlines is given up before it fills the memory."""
    monkeypatch.setattr(decoding, "MAX_LINE_BYTES", 1000)
    splitter = decoding.LineSplitter()
    assert splitter.feed_chunk(b"x" * 900) == b""
    with pytest.raises(errors.UndecodableAnswerError, match="exceeds 1000 bytes"):
        splitter.feed_chunk(b"x" * 200)


def test_events_of_all_types() -> None:
    """Each type of event becomes its class; of a failure the Status is kept."""
    gone = fake_server.status_object(410, "Expired", "too old resource version: 1 (5)")
    events = pod_events(
        line("ADDED", POD)
        + line("MODIFIED", POD)
        + line("DELETED", POD)
        + line("BOOKMARK", POD_BOOKMARK)
        + line("ERROR", gone)
    )
    kinds = [
        decoding.Added,
        decoding.Upserted,
        decoding.Deleted,
        decoding.Bookmark,
        decoding.WatchErrorEvent,
    ]
    assert [type(event) for event in events] == kinds
    assert isinstance(events[0], decoding.Upserted)
    assert events[0].object.spec.node_name == "n"
    assert isinstance(events[3], decoding.Bookmark)
    assert events[3].object.metadata.resource_version == "12746"
    assert isinstance(events[4], decoding.WatchErrorEvent)
    assert (events[4].object.code, events[4].object.reason) == (410, "Expired")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(one.kind, id=one.name) for one in (resources.PODS, resources.NODES)]
    + [pytest.param(objects.Namespace, id="namespaces")],
)
def test_bookmarks_and_errors_of_every_kind(kind: type[objects.Pod]) -> None:
    """The object of a bookmark or an error is never taken for one of the kind that is watched."""
    lines = line("BOOKMARK", POD_BOOKMARK) + line("ERROR", fake_server.status_object(500, "x", "y"))
    types = [type(event) for event in decoding.Decoder(kind).decode_events(lines)]
    assert types == [decoding.Bookmark, decoding.WatchErrorEvent]


def test_null_means_absent() -> None:
    """A node that reports an image without names is an ordinary node, alone and in a list."""
    node = fake_server.node("n", 5)
    node["status"]["images"] = [{"names": None, "sizeBytes": 3}]
    node["spec"]["taints"] = None
    decoder = decoding.Decoder(objects.Node)
    (event,) = decoder.decode_events(line("ADDED", node))
    assert isinstance(event, decoding.Added)
    page = decoder.decode_page(json.dumps(fake_server.object_list([node])).encode())
    assert [event.object] == page.items
    assert page.items[0].status.images == (objects.ContainerImage(size_bytes=3),)
    assert decoder.skipped == 0


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({**POD, "spec": "none"}, id="spec is text"),
        pytest.param({**POD, "spec": {"nodeName": 5}}, id="node name is a number"),
        pytest.param({**POD, "spec": {"tolerations": {"a": 1}}}, id="tolerations are a mapping"),
    ],
)
def test_an_object_of_another_shape(
    broken: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    """It is passed over, logged and counted; its neighbours and its version are not lost."""
    decoder = decoding.Decoder(objects.Pod)
    events = list(
        decoder.decode_events(line("ADDED", POD) + line("MODIFIED", broken) + line("ADDED", POD))
    )
    assert [type(event) for event in events] == [decoding.Added, decoding.Bookmark, decoding.Added]
    assert isinstance(events[1], decoding.Bookmark)
    assert events[1].object.metadata.resource_version == "7"
    page = decoder.decode_page(json.dumps(fake_server.object_list([broken, POD])).encode())
    assert [pod.metadata.name for pod in page.items] == ["a"]
    assert decoder.skipped == 2
    assert len(caplog.messages) == 2
    assert all("cannot be decoded" in message for message in caplog.messages)


@pytest.mark.parametrize("number", [b"1e400", b"-" + b"9" * 5000, b"3000000000", b'"\xff"'])
def test_a_number_that_no_column_holds(number: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """The object is passed over, its neighbours and its version are not lost."""
    broken = line("ADDED", {**POD, "spec": {"priority": 5}}).replace(b"5", number)
    decoder = decoding.Decoder(objects.Pod)
    events = list(decoder.decode_events(line("ADDED", POD) + broken + line("ADDED", POD)))
    assert [type(event) for event in events] == [decoding.Added, decoding.Bookmark, decoding.Added]
    listed = json.dumps(fake_server.object_list([{**POD, "spec": {"priority": 5}}, POD])).encode()
    page = decoder.decode_page(listed.replace(b'"priority": 5', b'"priority": ' + number))
    assert [pod.metadata.name for pod in page.items] == ["a"]
    assert decoder.skipped == 2
    with pytest.raises(errors.UndecodableAnswerError):
        decoding.decode_single_object(
            b'{"metadata": {}, "spec": {"priority": %b}}' % number, objects.Pod
        )


def test_a_new_type_of_event_is_passed_over() -> None:
    """What a later server may say besides does not stop us, and moves the version."""
    (event,) = pod_events(line("RENAMED", POD))
    assert isinstance(event, decoding.Bookmark)
    assert event.object.metadata.resource_version == "7"


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b'{"type":"ADDED","obj\n', id="cut line"),
        pytest.param(b"\x00\xff\x00\n", id="binary"),
        pytest.param(b"<html>\n", id="markup"),
        pytest.param(b"[1, 2]\n", id="no object"),
        pytest.param(b"[" * 100_000 + b"\n", id="endless depth"),
        pytest.param(b'{"type":"ADDED","object":7}\n', id="event without object"),
    ],
)
def test_garbage_ends_the_stream_but_not_before_its_turn(garbage: bytes) -> None:
    """Events before the garbage are given out; then the stream is not trusted any more."""
    events = iter(decoding.Decoder(objects.Pod).decode_events(line("ADDED", POD) + garbage))
    assert isinstance(next(events), decoding.Added)
    with pytest.raises(errors.UndecodableAnswerError):
        next(events)


def test_blank_lines_say_nothing() -> None:
    """Empty lines between events, and at the end, are passed over."""
    assert len(pod_events(b"\n" + line("ADDED", POD) + b"\n\n" + line("ADDED", POD) + b"\n")) == 2
    assert len(pod_events(b"\n" + line("NEWS", POD) + b" \n" + line("ADDED", POD))) == 2


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"ok", id="text"),
        pytest.param(b'{"items":[]}', id="no metadata"),
        pytest.param(b'{"metadata":{},"items":{}}', id="items are no list"),
    ],
)
def test_an_answer_that_is_no_list(body: bytes) -> None:
    """It is an error, not an empty cluster."""
    with pytest.raises(errors.UndecodableAnswerError, match="not a list of Pod"):
        decoding.Decoder(objects.Pod).decode_page(body)


def test_pages() -> None:
    """A page has its objects, the version of the list, and what asks for the next page."""
    body = fake_server.object_list([POD], resource_version="99", continue_token="next")
    page = decoding.Decoder(objects.Pod).decode_page(json.dumps(body).encode())
    assert (page.resource_version, page.continue_token) == ("99", "next")
    assert [pod.key for pod in page.items] == ["default/a"]
    empty = decoding.Decoder(objects.Pod).decode_page(b'{"metadata":{},"items":null}')
    assert empty.items == []


def test_managed_fields_are_not_kept() -> None:
    """Half of a pod's text is bookkeeping of the API server: it is skipped while parsing."""
    (event,) = pod_events(line("ADDED", POD))
    assert isinstance(event, decoding.Added)
    assert b"kubectl" not in msgspec.json.encode(event)


# --- deep nesting --------------------------------------------------------------------------------

LEVELS = 5000
"""More than the recursion limit, and as many as the API server accepts in parameters."""
SENTINEL = '"deep"'


def make_deep(item: object) -> bytes:
    """Return an object as JSON, with deep nesting in place of `deep`."""
    return json.dumps(item).replace(SENTINEL, "[" * LEVELS + "]" * LEVELS).encode()


def make_deep_pod(name: str) -> bytes:
    """Return a pod as any author of pods can create it."""
    fields = [{"manager": "m", "fieldsV1": {"f:spec": "deep"}}]
    metadata = {"name": name, "namespace": "default", "uid": name, "managedFields": fields}
    return make_deep({**POD, "metadata": metadata})


def test_deep_nesting_hides_no_object() -> None:
    """Neither in lists nor in watches, and not those beside it."""
    decoder = decoding.Decoder(objects.Pod)
    plain = json.dumps(POD).encode()
    page = b'{"metadata":{"resourceVersion":"9"},"items":[%s,%s]}' % (make_deep_pod("b"), plain)
    assert [pod.metadata.name for pod in decoder.decode_page(page).items] == ["b", "a"]
    lines = b"".join(
        b'{"type":"ADDED","object":%s}\n' % pod for pod in (plain, make_deep_pod("b"), plain)
    )
    events = list(decoder.decode_events(lines))
    assert [event.object.metadata.name for event in events] == ["a", "b", "a"]  # type: ignore[union-attr]  # they are pods
    assert decoding.decode_single_object(make_deep_pod("b"), objects.Pod).metadata.name == "b"
    assert decoder.skipped == 0


def test_deep_text_that_is_not_json_is_refused() -> None:
    """A cut does not repair anything."""
    decoder = decoding.Decoder(objects.Pod)
    with pytest.raises(errors.UndecodableAnswerError):
        decoder.decode_page(b"[" * LEVELS)
    with pytest.raises(errors.UndecodableAnswerError):
        list(decoder.decode_events(b"[" * LEVELS + b"\n"))


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text('[]{}\\"a/')),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text('[]{}\\"a'), inner)),
    )
)
def test_what_is_not_deep_stays(value: object) -> None:
    """Whatever brackets its texts contain."""
    text = json.dumps(value).encode()
    assert deep_values.cut_deep_values(text) == text


def test_texts_of_objects_are_passed_on() -> None:
    """They are whole, also where fields are null or unknown; what cannot be decoded has none."""
    kept: list[tuple[str, bytes]] = []
    decoder = decoding.TextKeepingDecoder(
        objects.Pod, lambda pod, read_text: kept.append((pod.metadata.name, read_text()))
    )
    strange = {"metadata": {"name": "b", "labels": None}, "spec": {"future": [1, {}]}}
    broken: dict[str, object] = {"metadata": {"name": []}}
    page = {"metadata": {"resourceVersion": "7"}, "items": [POD, broken]}
    assert len(decoder.decode_page(msgspec.json.encode(page)).items) == 1
    lines = line("ADDED", strange) + line("MODIFIED", broken) + line("DELETED", POD)
    assert len(list(decoder.decode_events(lines))) == 3
    assert [(name, msgspec.json.decode(text)) for name, text in kept] == [
        ("a", POD),
        ("b", strange),
    ]
