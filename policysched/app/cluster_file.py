"""A cluster in a file: what `kubectl get nodes,pods,… -o json` or `-o yaml` prints.

That is a v1 List of objects of any kinds, or one object; a YAML text may hold several documents.
Objects of kinds that scheduling does not read are skipped. JSON is decoded straight into typed
objects; YAML takes some twenty times as long.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

import msgspec
import orjson

from policysched import errors
from policysched.app import plain_yaml
from policysched.cluster import (
    disruption_budgets,
    objects,
    owner_objects,
    owner_selectors,
    storage_objects,
)

STDIN = "-"
_STDIN_NAME = "<stdin>"
Known: TypeAlias = (
    objects.Node
    | objects.Pod
    | objects.Namespace
    | owner_objects.Service
    | owner_objects.Workload
    | storage_objects.StorageObject
    | disruption_budgets.PodDisruptionBudget
)
"""Everything that scheduling reads."""
_KnownT = TypeVar("_KnownT", bound=Known)
_OWNER_KINDS = {kind.value[1]: kind for kind in owner_selectors.OwnerKind}
_KINDS: dict[str, tuple[str, type[Known]]] = {
    "Namespace": ("v1", objects.Namespace),
    "Node": ("v1", objects.Node),
    "Pod": ("v1", objects.Pod),
    "PodDisruptionBudget": ("policy/v1", disruption_budgets.PodDisruptionBudget),
    **{kind.__name__: (api, kind) for kind, api in storage_objects.API_VERSIONS.items()},
    **{
        name: (kind.value[0], owner_objects.WIRE_TYPES[kind]) for name, kind in _OWNER_KINDS.items()
    },
}
"""Kind → (apiVersion, type)."""
_NAMESPACED = (
    objects.Pod,
    owner_objects.Service,
    owner_objects.Workload,
    disruption_budgets.PodDisruptionBudget,
    *storage_objects.NAMESPACED,
)

_KUBECTL_HELP = "a cluster file is what `kubectl get nodes,pods -A -o json` prints"
_BEGINNING = re.compile(rb'\s*\{\s*"apiVersion":\s*"([\w./-]+)",\s*"kind":\s*"(\w+)"', re.ASCII)
"""How kubectl, which sorts fields, begins an object."""
_MSGSPEC_PATH = re.compile(r"(?P<problem>.*?)(?: - at `\$\.?(?P<path>.*)`)?")


class _Header(msgspec.Struct):
    """What every object begins with."""

    kind: Any = None
    apiVersion: Any = None  # noqa: N815 - the name on the wire
    items: list[msgspec.Raw] | None = None


class _Name(msgspec.Struct):
    name: Any = None
    namespace: Any = None


class _Named(msgspec.Struct):
    metadata: _Name | None = None


Owner: TypeAlias = tuple[owner_selectors.OwnerKind, owner_objects.Service | owner_objects.Workload]
Source: TypeAlias = msgspec.Raw | dict[str, Any]
"""An object that is not decoded yet: JSON text, or values read from YAML."""


@dataclasses.dataclass(slots=True)
class ClusterObjects:
    """The objects of a cluster file, in its order.

    Attributes:
        owners: services and controllers, whose selectors default spread constraints take.
        storage: volumes, claims, classes and the like.
        budgets: how many pods preemption may evict.
        skipped: how many objects of each kind were left out.
    """

    nodes: list[objects.Node] = dataclasses.field(default_factory=list)
    pods: list[objects.Pod] = dataclasses.field(default_factory=list)
    namespaces: list[objects.Namespace] = dataclasses.field(default_factory=list)
    owners: list[Owner] = dataclasses.field(default_factory=list)
    storage: list[storage_objects.StorageObject] = dataclasses.field(default_factory=list)
    budgets: list[disruption_budgets.PodDisruptionBudget] = dataclasses.field(default_factory=list)
    skipped: Counter[str] = dataclasses.field(default_factory=Counter)


def read(path: str) -> ClusterObjects:
    """Return the cluster in the file `path`.

    Raises:
        InputError: the file cannot be read, or is no cluster file.
    """
    return parse(read_bytes(path), path)


def read_bytes(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise errors.InputError(path, f"cannot be read: {error.strerror}") from error


@dataclasses.dataclass(frozen=True, slots=True)
class Clusters:
    """What `--cluster` names.

    Attributes:
        places: where each cluster comes from, and the cluster; read one at a time.
        is_lines: whether they are JSON lines, each to be answered by a line.
    """

    places: Iterator[tuple[str, ClusterObjects]]
    is_lines: bool = False


def read_all(path: str) -> Clusters:
    """Return the cluster in a file, or those on standard input where `path` is `-`.

    Standard input holds JSON lines, one List a line; what kubectl prints (JSON over many lines, or
    YAML) is taken as one cluster. Empty lines are skipped and nothing is read ahead.

    Raises:
        InputError: there is no input, or, from `places`, a file or line that is no cluster.
    """
    if path != STDIN:
        return Clusters(iter([(path, read(path))]))
    stdin = sys.stdin.buffer
    numbered = ((n, line) for n, line in enumerate(stdin, start=1) if line.strip())
    try:
        first = next(numbered, None)
    except OSError as error:
        raise errors.InputError(_STDIN_NAME, f"cannot be read: {error.strerror}") from error
    if first is None:
        raise errors.InputError(_STDIN_NAME, "is empty", help=_KUBECTL_HELP)
    if _begins_document(first[1]):
        content = first[1] + stdin.read()
        return Clusters(iter([(_STDIN_NAME, parse(content, _STDIN_NAME))]))
    return Clusters((_line(n, line) for n, line in itertools.chain((first,), numbered)), True)


def _line(number: int, line: bytes) -> tuple[str, ClusterObjects]:
    where = f"{_STDIN_NAME}:{number}"
    return where, parse(line, where, is_line=True)


def _begins_document(line: bytes) -> bool:
    """Whether a first line is that of a text over many lines, not a JSON line."""
    text = line.strip()
    return text in (b"{", b"---") or re.match(rb"(#|[A-Za-z]+:(\s|$))", text) is not None


def parse(content: bytes, where: str, *, is_line: bool = False) -> ClusterObjects:
    """Return the cluster that `content` describes; `where` names it in errors.

    Raises:
        InputError: it is no cluster file.
    """
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise errors.InputError(where, "is empty", help=_KUBECTL_HELP)
    found = ClusterObjects()
    is_json = is_line or content.lstrip()[:1] in (b"{", b"[")
    sources = _json_objects(content, where) if is_json else _yaml_objects(content, where)
    for place, kind, source in sources:
        _add(found, kind, source, place)
    if found.skipped and not (found.nodes or found.pods or found.namespaces):
        kinds = ", ".join(sorted(found.skipped))
        raise errors.InputError(where, f"has no Node and no Pod, only {kinds}", help=_KUBECTL_HELP)
    return found


# --- objects one by one --------------------------------------------------------------------------

_Placed: TypeAlias = tuple[str, str, Source]
"""(place for errors, kind or "" for one that is not read, object)"""


def _json_objects(content: bytes, where: str) -> Iterable[_Placed]:
    try:
        header = msgspec.json.decode(content, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _not_a_cluster(content, where) from error
    if header.items is None:
        if header.kind == "List":
            return []
        return [(where, _kind(header, where), msgspec.Raw(content))]
    default_kind = _item_kind(header, where)
    return (
        _json_item(raw, f"{where}: items[{index}]", default_kind)
        for index, raw in enumerate(header.items)
    )


def _json_item(raw: msgspec.Raw, place: str, default_kind: str) -> _Placed:
    known = _BEGINNING.match(memoryview(raw))
    if known is not None:  # spares reading all of it twice
        header = _Header(known[2].decode(), known[1].decode())
        return place, _kind(header, place, default_kind), raw
    try:
        header = msgspec.json.decode(raw, type=_Header)
    except msgspec.DecodeError as error:
        raise errors.InputError(place, "is not a Kubernetes object") from error
    return place, _kind(header, place, default_kind), raw


def _yaml_objects(content: bytes, where: str) -> Iterable[_Placed]:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise errors.InputError(where, "is not UTF-8 text", help=_KUBECTL_HELP) from error
    is_empty = True
    for document in plain_yaml.load_all(text, where):
        is_empty = False
        header = _yaml_header(document.value, where)
        items = document.value.get("items")
        if not isinstance(items, list):
            yield where, _kind(header, where), document.value
            continue
        default_kind = _item_kind(header, where)
        for index, item in enumerate(items):
            place = f"{where}: items[{index}]"
            yield place, _kind(_yaml_header(item, place), place, default_kind), item
    if is_empty:  # comments, or `null`
        raise errors.InputError(where, "is empty", help=_KUBECTL_HELP)


def _yaml_header(value: object, place: str) -> _Header:
    if not isinstance(value, dict):
        raise errors.InputError(place, "is not a Kubernetes object", help=_KUBECTL_HELP)
    return _Header(value.get("kind"), value.get("apiVersion"))


def _not_a_cluster(content: bytes, where: str) -> errors.InputError:
    """Return the error of JSON that is malformed, or well-formed but no object."""
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError as syntax:
        place = where if ":" in where else f"{where}:{syntax.lineno}:{syntax.colno}"
        return errors.InputError(place, f"not JSON: {syntax.msg}", help=_KUBECTL_HELP)
    return errors.InputError(where, "is not a Kubernetes object", help=_KUBECTL_HELP)


def _item_kind(header: _Header, where: str) -> str:
    """Return the kind that items of a typed list (`PodList`) leave out, "" in a `List`."""
    kind = _kind_word(header, where)
    if not kind.endswith("List"):
        raise errors.InputError(where, f"is a `{kind}` and no List", help=_KUBECTL_HELP)
    return kind.removesuffix("List")


def _kind(header: _Header, place: str, default: str = "") -> str:
    """Return the kind; one of another API group than ours carries its group."""
    kind = default if header.kind is None and default else _kind_word(header, place)
    expected = _KINDS[kind][0] if kind in _KINDS else "v1"
    return kind if header.apiVersion in (None, expected) else f"{kind}.{header.apiVersion}"


def _kind_word(header: _Header, place: str) -> str:
    if not isinstance(header.kind, str) or not header.kind:
        raise errors.InputError(place, "has no `kind`", help=_KUBECTL_HELP)
    return header.kind


# --- decoding ------------------------------------------------------------------------------------


def _add(found: ClusterObjects, kind: str, source: Source, place: str) -> None:
    if kind not in _KINDS:
        found.skipped[kind] += 1
        return
    decoded = _in_namespace(_decode(source, _KINDS[kind][1], kind, place))
    match decoded:
        case objects.Node():
            found.nodes.append(decoded)
        case objects.Pod():
            found.pods.append(decoded)
        case objects.Namespace():
            found.namespaces.append(decoded)
        case owner_objects.Service() | owner_objects.Workload():
            found.owners.append((_OWNER_KINDS[kind], decoded))
        case disruption_budgets.PodDisruptionBudget():
            found.budgets.append(decoded)
        case _:
            found.storage.append(decoded)


def _decode(source: Source, wanted: type[_KnownT], kind: str, place: str) -> _KnownT:
    try:
        decoded = _decode_strictly(source, wanted)
    except msgspec.ValidationError:
        decoded = _decode_without_nulls(source, wanted, kind, place)
    except UnicodeDecodeError as error:
        raise errors.InputError(place, "is not UTF-8 text") from error
    if not decoded.metadata.name:
        raise errors.InputError(place, f"a {kind} without metadata.name")
    return decoded


def _decode_strictly(source: Source, wanted: type[_KnownT]) -> _KnownT:
    if isinstance(source, msgspec.Raw):
        return msgspec.json.decode(source, type=wanted)
    return msgspec.convert(source, wanted)


def _decode_without_nulls(source: Source, wanted: type[_KnownT], kind: str, place: str) -> _KnownT:
    """Decode once more with null fields left out, which the API takes for absent."""
    value = msgspec.json.decode(source) if isinstance(source, msgspec.Raw) else source
    try:
        return msgspec.convert(_without_nulls(value), wanted)
    except msgspec.ValidationError as error:
        match = _MSGSPEC_PATH.fullmatch(str(error))
        field, problem = (match["path"], match["problem"]) if match else (None, str(error))
        where = f"{place} ({kind} {_name(value)})" + (f": {field}" if field else "")
        raise errors.InputError(where, problem[0].lower() + problem[1:]) from error


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(v) for key, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value if v is not None]
    return value


def _name(value: object) -> str:
    """Return the name of an object that could not be decoded, as far as it has one."""
    try:
        metadata = msgspec.convert(value, _Named).metadata
    except msgspec.ValidationError:
        return "without a name"
    if metadata is None or not metadata.name:
        return "without a name"
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else str(metadata.name)


def _in_namespace(decoded: Known) -> Known:
    """Return the object in its namespace, which manifests leave out where they mean `default`.

    Objects of other kinds are in none, whatever a manifest says.
    """
    wanted = ""
    if isinstance(decoded, _NAMESPACED):
        wanted = decoded.metadata.namespace or "default"
    if decoded.metadata.namespace == wanted:
        return decoded
    metadata = msgspec.structs.replace(decoded.metadata, namespace=wanted)
    return msgspec.structs.replace(decoded, metadata=metadata)
