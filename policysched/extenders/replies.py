"""Decode the answers of extenders as kube-scheduler does, in Go.

Names of fields match without regard to case; if several match, the last one counts. Unknown fields
are ignored, null means absent, and text after the first JSON value is not read.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Annotated, TypeAlias, TypeVar

import msgspec

from policysched import int64
from policysched.extenders import calls

_T = TypeVar("_T")
Json: TypeAlias = object


@dataclasses.dataclass(frozen=True, slots=True)
class FilterReply:
    """The answer to Filter.

    Attributes:
        node_names: `NodeNames`; None if absent.
        node_list_names: names of the nodes in `Nodes`; None if absent.
        failed: `FailedNodes`, text by node name.
        unresolvable: `FailedAndUnresolvableNodes`.
        error: `Error`.
    """

    node_names: list[str] | None
    node_list_names: list[str] | None
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str]
    error: str


@dataclasses.dataclass(frozen=True, slots=True)
class MetaVictims:
    """The victims on one node, in an answer to Preempt."""

    uids: tuple[str, ...]
    violations: int


def decode_filter(body: bytes) -> FilterReply:
    """Return the answer to Filter.

    Raises:
        ExtenderError: the body is not such an answer.
    """
    reply = _Fields(_decode_first_value(body), "")
    names = reply.find("NodeNames", list)
    nodes = reply.find("Nodes", dict)
    return FilterReply(
        None if names is None else [_require(name, str, "NodeNames") for name in names],
        None if nodes is None else _list_node_names(nodes),
        reply.read_texts("FailedNodes"),
        reply.read_texts("FailedAndUnresolvableNodes"),
        reply.find("Error", str) or "",
    )


def _list_node_names(nodes: Json) -> list[str]:
    items = _Fields(nodes, "Nodes").find("items", list) or []
    names = []
    for item in items:
        metadata = _Fields(item, "Nodes.items").find("metadata", dict)
        names.append(_Fields(metadata, "Nodes.items.metadata").find("name", str) or "")
    return names


def decode_points(body: bytes) -> list[tuple[str, int]]:
    """Return the answer to Prioritize: pairs of a node's name and its score.

    Raises:
        ExtenderError: the body is not such an answer.
    """
    try:
        usual = _decode_usual_points(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_unusual_points(body)
    return [(node.host, node.score) for node in usual]


class _UsualPoints(msgspec.Struct, rename="pascal", forbid_unknown_fields=True):
    """One node as almost all extenders write it."""

    host: str
    score: Annotated[int, msgspec.Meta(ge=int64.MIN, le=int64.MAX)]


_decode_usual_points = msgspec.json.Decoder(list[_UsualPoints]).decode


def _decode_unusual_points(body: bytes) -> list[tuple[str, int]]:
    """Return the same for fields in another case, absent fields, and other exceptions."""
    entries = _require(_decode_first_value(body), list, "the answer") or []
    points = []
    for entry in entries:
        fields = _Fields(entry, "the answer")
        points.append((fields.find("Host", str) or "", fields.read_int64("Score")))
    return points


def decode_victims(body: bytes) -> dict[str, MetaVictims]:
    """Return the answer to Preempt, by node name.

    Raises:
        ExtenderError: the body is not such an answer.
    """
    field = "NodeNameToMetaVictims"
    nodes = _Fields(_decode_first_value(body), "").find(field, dict) or {}
    return {name: _read_victims(_Fields(node, f"{field}.{name}")) for name, node in nodes.items()}


def _read_victims(fields: _Fields) -> MetaVictims:
    pods = fields.find("Pods", list) or []
    uids = [_Fields(pod, "Pods").find("UID", str) or "" for pod in pods]
    return MetaVictims(tuple(uids), fields.read_int64("NumPDBViolations"))


def decode_binding_error(body: bytes) -> str:
    """Return the error in an answer to Bind, "" for none.

    Raises:
        ExtenderError: the body is not such an answer.
    """
    return _Fields(_decode_first_value(body), "").find("Error", str) or ""


def _decode_first_value(body: bytes) -> Json:
    """Return the first JSON value of a body.

    Raises:
        ExtenderError: the body does not begin with a JSON value.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # Go accepts more: text after the first value, and parts of characters
    text = body.decode("utf-8", "replace").lstrip(" \t\r\n")
    text = _ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)
    value: Json
    try:
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise calls.ExtenderError(f"the answer is not JSON: {error}") from error
    return value


_ESCAPE = re.compile(
    r"""\\(
    u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}  # a character in two halves
    | (?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})                # half a character (surrogate)
    | .
    )""",
    re.DOTALL | re.VERBOSE,
)
"""An escape in a JSON string. No text can contain half a character, so Go replaces it."""


def _refuse_constant(name: str) -> Json:
    msg = f"{name} is no number"
    raise ValueError(msg)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _require(value: Json, kind: type[_T], name: str) -> _T:
    """Return a value of a field; null is the empty value of its kind."""
    if value is None:
        return kind()
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise calls.ExtenderError(f"`{name}` is not a JSON {_KINDS[kind]}")
    return value


_KINDS: Mapping[type, str] = {str: "string", list: "array", dict: "object", int: "integer"}


class _Fields:
    """The fields of a JSON object; null has none."""

    def __init__(self, value: Json, name: str) -> None:
        self._values = _require(value, dict, name or "the answer")
        self._prefix = f"{name}." if name else ""

    def find(self, name: str, kind: type[_T]) -> _T | None:
        """Return the value of a field; None if it is absent or null."""
        matching = None
        for key, value in self._values.items():
            if key == name or key.lower() == name.lower():
                matching = value
        return None if matching is None else _require(matching, kind, self._prefix + name)

    def read_texts(self, name: str) -> dict[str, str]:
        """Return the value of a field with a text for each key."""
        texts = self.find(name, dict) or {}
        return {key: _require(text, str, f"{name}.{key}") for key, text in texts.items()}

    def read_int64(self, name: str) -> int:
        """Return the value of a field with an integer of 64 bits, 0 if it is absent."""
        value = self.find(name, int) or 0
        if not int64.fits_int64(value):
            raise calls.ExtenderError(f"`{self._prefix}{name}` exceeds 64 bits")
        return value
