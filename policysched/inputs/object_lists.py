"""Reads lists of Kubernetes objects, as `kubectl get … -o json` or `-o yaml` prints them.

The input is a v1 List of objects of any kinds, or one object, from a file or standard input; a YAML
text can contain several documents. JSON is decoded directly into typed objects; YAML takes about
20 times as long.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec
import orjson

from policysched import errors
from policysched.cluster.objects import objects, wire
from policysched.inputs import plain_yaml

STDIN = "-"
_STDIN_NAME = "<stdin>"
_BEGINNING = re.compile(rb'\s*\{\s*"apiVersion":\s*"([\w./-]+)",\s*"kind":\s*"(\w+)"', re.ASCII)
"""The beginning of an object in kubectl's output, in which fields are sorted."""
_RANGE = "out of range"
_TOO_DEEP = "is nested too deeply"
_NOT_SPACE = re.compile(rb"\S")
_MSGSPEC_PATH = re.compile(r"(?P<problem>.*?)(?: - at `\$\.?(?P<path>.*)`)?")


class SchedulingObject(Protocol):
    """The interface of all objects that scheduling reads."""

    @property
    def metadata(self) -> objects.ObjectMeta:
        """The metadata of the object."""
        ...


class _ObjectHeader(msgspec.Struct):
    """The fields that identify an object or a list, decoded before the object itself."""

    kind: Any = None
    apiVersion: Any = None  # noqa: N815 - the name on the wire
    items: list[msgspec.Raw] | None = None


class _ObjectName(msgspec.Struct):
    name: Any = None
    namespace: Any = None


class _NamedObject(msgspec.Struct):
    metadata: _ObjectName | None = None


_ListT = TypeVar("_ListT")
_KnownT = TypeVar("_KnownT", bound=SchedulingObject)
Source: TypeAlias = msgspec.Raw | dict[str, Any]
"""An object that is not decoded yet: JSON text, or values from YAML."""
Placed: TypeAlias = tuple[str, str, Source]
"""(place for errors, kind, object); an unexpected apiVersion is appended to the kind."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedKinds:
    """The kinds that an input list should contain.

    Attributes:
        api_versions: kind → the expected apiVersion; `v1` for all other kinds.
        help: the advice in errors on how to produce such a list.
    """

    api_versions: Mapping[str, str]
    help: str

    def make_wrong_list_error(self, where: str, problem: str) -> errors.InputError:
        """Return the error for an input that is not a list of these kinds."""
        return errors.InputError(where, problem, help=self.help)


@dataclasses.dataclass(frozen=True, slots=True)
class InputLists(Generic[_ListT]):
    """The lists that an option such as `--cluster` names.

    Attributes:
        places: yields the name for errors and the content of each list; reads one list at a time.
        is_lines: whether the input is JSON lines; the command answers each line with one line.
    """

    places: Iterator[tuple[str, _ListT]]
    is_lines: bool = False


# --- files and stdin -----------------------------------------------------------------------------


def read_bytes(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise errors.InputError(path, f"cannot be read: {error.strerror}") from error


def path_exists(path: pathlib.Path) -> bool:
    """Return whether the file or folder exists.

    Raises:
        InputError: a folder of the path cannot be entered.
    """
    try:
        return path.exists()
    except OSError as error:
        raise errors.InputError(str(path), f"cannot be read: {error.strerror}") from error


def read_input_lists(
    path: str, form: ExpectedKinds, collect: Callable[[Iterable[Placed], str], _ListT]
) -> InputLists[_ListT]:
    """Return the list in a file, or the lists on standard input if `path` is `-`.

    Standard input contains JSON lines, with one List per line; kubectl's output (JSON over many
    lines, or YAML) is read as one list. Empty lines are skipped, and no line is read in advance.

    Args:
        path: the path of the file.
        form: the expected kinds.
        collect: builds the result from the objects and the name of the input, for errors.

    Raises:
        InputError: the input is empty; or, while `places` is read, a file or line is not a list.
    """
    if path != STDIN:
        return InputLists(
            iter([(path, collect(split_object_list(read_bytes(path), path, form), path))])
        )
    stdin = sys.stdin.buffer
    numbered = ((n, line) for n, line in enumerate(stdin, start=1) if line.strip())
    try:
        first = next(numbered, None)
    except OSError as error:
        raise errors.InputError(_STDIN_NAME, f"cannot be read: {error.strerror}") from error
    if first is None:
        raise form.make_wrong_list_error(_STDIN_NAME, "is empty")
    if _begins_multiline_document(first[1]):
        placed = split_object_list(first[1] + stdin.read(), _STDIN_NAME, form)
        return InputLists(iter([(_STDIN_NAME, collect(placed, _STDIN_NAME))]))
    lines = ((f"{_STDIN_NAME}:{n}", line) for n, line in itertools.chain((first,), numbered))
    read = (
        (at, collect(split_object_list(line, at, form, is_line=True), at)) for at, line in lines
    )
    return InputLists(read, is_lines=True)


def _begins_multiline_document(line: bytes) -> bool:
    """Return whether the first line of an input begins a multi-line document, not JSON lines."""
    text = line.strip()
    return text in (b"{", b"---") or re.match(rb"(#|[A-Za-z]+:(\s|$))", text) is not None


# --- lists ---------------------------------------------------------------------------------------


def split_object_list(
    content: bytes, where: str, form: ExpectedKinds, *, is_line: bool = False
) -> Iterable[Placed]:
    """Return the objects in the list `content`; `where` names it in errors.

    Raises:
        InputError: the content is not a list of objects; may also be raised during iteration.
    """
    content = content.removeprefix(b"\xef\xbb\xbf")
    first = _NOT_SPACE.search(content)  # searches without a copy of the content
    if first is None:
        raise form.make_wrong_list_error(where, "is empty")
    is_json = is_line or first[0] in (b"{", b"[")
    return (
        _split_json_objects(content, where, form)
        if is_json
        else _split_yaml_objects(content, where, form)
    )


def _split_json_objects(content: bytes, where: str, form: ExpectedKinds) -> Iterable[Placed]:
    """Return the objects of a JSON text, which is a list or a single object."""
    try:
        header = msgspec.json.decode(content, type=_ObjectHeader)
    except wire.UNREADABLE as error:
        raise _make_not_a_list_error(content, where, form) from error
    if header.items is None:
        if header.kind == "List":
            return []
        return [(where, _read_object_kind(header, where, form), msgspec.Raw(content))]
    return _split_json_items(header.items, where, form, _find_item_kind(header, where, form))


def _split_json_items(
    items: Iterable[msgspec.Raw], where: str, form: ExpectedKinds, default_kind: str
) -> Iterator[Placed]:
    """Yield the items of a list, and determine each kind without decoding the item if possible."""
    kinds: dict[bytes, str] = {}
    for index, raw in enumerate(items):
        place = f"{where}: items[{index}]"
        known = _BEGINNING.match(memoryview(raw))
        if known is None:
            yield _read_json_item(raw, place, form, default_kind)
            continue
        beginning = known[0]  # identifies the kind without decoding each object twice
        if beginning not in kinds:
            header = _ObjectHeader(known[2].decode(), known[1].decode())
            kinds[beginning] = _read_object_kind(header, place, form, default_kind)
        yield place, kinds[beginning], raw


def _read_json_item(raw: msgspec.Raw, place: str, form: ExpectedKinds, default_kind: str) -> Placed:
    try:
        header = msgspec.json.decode(raw, type=_ObjectHeader)
    except wire.UNREADABLE as error:
        raise errors.InputError(place, "is not a Kubernetes object") from error
    return place, _read_object_kind(header, place, form, default_kind), raw


def _split_yaml_objects(content: bytes, where: str, form: ExpectedKinds) -> Iterable[Placed]:
    """Yield the objects of all YAML documents, each of which is a list or a single object."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise form.make_wrong_list_error(where, "is not UTF-8 text") from error
    is_empty = True
    for document in plain_yaml.load_yaml_documents(text, where, has_octals=True):
        is_empty = False
        header = _read_yaml_header(document.value, where, form)
        items = document.value.get("items")
        if not isinstance(items, list):
            yield where, _read_object_kind(header, where, form), document.value
            continue
        default_kind = _find_item_kind(header, where, form)
        for index, item in enumerate(items):
            place = f"{where}: items[{index}]"
            yield (
                place,
                _read_object_kind(_read_yaml_header(item, place, form), place, form, default_kind),
                item,
            )
    if is_empty:  # the text has only comments, or `null`
        raise form.make_wrong_list_error(where, "is empty")


def _read_yaml_header(value: object, place: str, form: ExpectedKinds) -> _ObjectHeader:
    if not isinstance(value, dict):
        raise form.make_wrong_list_error(place, "is not a Kubernetes object")
    return _ObjectHeader(value.get("kind"), value.get("apiVersion"))


def _make_not_a_list_error(content: bytes, where: str, form: ExpectedKinds) -> errors.InputError:
    """Return the error for malformed JSON, or for JSON that is not an object."""
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError as syntax:
        place = where if ":" in where else f"{where}:{syntax.lineno}:{syntax.colno}"
        return form.make_wrong_list_error(place, f"not JSON: {syntax.msg}")
    return form.make_wrong_list_error(where, "is not a Kubernetes object")


def _find_item_kind(header: _ObjectHeader, where: str, form: ExpectedKinds) -> str:
    """Return the kind that items of a typed list (`PodList`) omit, or "" for a `List`."""
    kind = _require_kind(header, where, form)
    if not kind.endswith("List"):
        raise form.make_wrong_list_error(where, f"is a `{kind}`, not a List")
    return kind.removesuffix("List")


def _read_object_kind(
    header: _ObjectHeader, place: str, form: ExpectedKinds, default: str = ""
) -> str:
    """Return the kind, with the apiVersion appended if it is not the expected apiVersion."""
    kind = default if header.kind is None and default else _require_kind(header, place, form)
    expected = form.api_versions.get(kind, "v1")
    return kind if header.apiVersion in (None, expected) else f"{kind}.{header.apiVersion}"


def _require_kind(header: _ObjectHeader, place: str, form: ExpectedKinds) -> str:
    if not isinstance(header.kind, str) or not header.kind:
        raise form.make_wrong_list_error(place, "has no `kind`")
    return header.kind


# --- decoding ------------------------------------------------------------------------------------


def decode_object(source: Source, wanted: type[_KnownT], kind: str, place: str) -> _KnownT:
    """Decode an object; null fields count as absent, as in the API.

    Raises:
        InputError: the object has no name, or a field has the wrong type.
    """
    try:
        decoded = _decode_source(source, wanted, kind, place)
    except UnicodeDecodeError as error:
        raise errors.InputError(place, "is not UTF-8 text") from error
    except RecursionError as error:
        raise errors.InputError(place, _TOO_DEEP) from error
    if not decoded.metadata.name:
        raise errors.InputError(place, f"a {kind} without metadata.name")
    return decoded


def _decode_source(source: Source, wanted: type[_KnownT], kind: str, place: str) -> _KnownT:
    try:
        return _decode_strictly(source, wanted)
    except msgspec.ValidationError as error:
        return _decode_without_nulls(
            source, wanted, f"{place} ({kind} {_read_object_name(source)})", error
        )


def _decode_strictly(source: Source, wanted: type[_KnownT]) -> _KnownT:
    if isinstance(source, msgspec.Raw):
        return msgspec.json.decode(source, type=wanted)
    return msgspec.convert(source, wanted)


def _decode_without_nulls(
    source: Source, wanted: type[_KnownT], place: str, strict_error: msgspec.ValidationError
) -> _KnownT:
    """Decode an object without its null fields; with them, `strict_error` was raised."""
    try:
        value = msgspec.json.decode(source) if isinstance(source, msgspec.Raw) else source
    except msgspec.ValidationError as error:  # an error about a number lacks the path of the field
        raise _make_wrong_field_error(
            place, strict_error if _RANGE in str(strict_error) else error
        ) from error
    try:
        return msgspec.convert(_drop_nulls(value), wanted)
    except msgspec.ValidationError as error:
        raise _make_wrong_field_error(place, error) from error


def _make_wrong_field_error(place: str, error: msgspec.ValidationError) -> errors.InputError:
    match = _MSGSPEC_PATH.fullmatch(str(error))
    field, problem = (match["path"], match["problem"]) if match else (None, str(error))
    where = f"{place}: {field}" if field and not field.startswith("[") else place
    advice = "write a number of at most 64 bits" if _RANGE in problem else ""
    return errors.InputError(where, problem[0].lower() + problem[1:], help=advice)


def _drop_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _drop_nulls(v) for key, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_drop_nulls(v) for v in value if v is not None]
    return value


def _read_object_name(source: Source) -> str:
    """Return the name of an object that could not be decoded, or `without a name`, for messages."""
    try:
        if isinstance(source, msgspec.Raw):
            metadata = msgspec.json.decode(source, type=_NamedObject).metadata
        else:
            metadata = msgspec.convert(source, _NamedObject).metadata
    except (msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        return "without a name"
    if metadata is None or not metadata.name:
        return "without a name"
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else str(metadata.name)


def add_default_namespace(decoded: _KnownT, *, is_namespaced: bool) -> _KnownT:
    """Return the object with its namespace, which is `default` if the manifest sets none.

    Objects of cluster-scoped kinds get no namespace, even if the manifest sets one.
    """
    wanted = (decoded.metadata.namespace or "default") if is_namespaced else ""
    if decoded.metadata.namespace == wanted:
        return decoded
    metadata = msgspec.structs.replace(decoded.metadata, namespace=wanted)
    replaced: _KnownT = msgspec.structs.replace(decoded, metadata=metadata)  # type: ignore[type-var]  # every known object is a struct
    return replaced
