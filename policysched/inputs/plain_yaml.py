"""Reads YAML with plain values from untrusted authors: configuration and manifests.

PyYAML's own loaders compose a document by recursion in C, so a deeply nested text crashes the
process, and a small text with aliases can represent a huge value. This module builds values from
the parser's flat stream of events, with limits on nesting and on the size of aliases; it refuses
tags and merge keys. A plain scalar is a number only if all versions of YAML agree: `yes`, `12:30`,
`1e3`, `017` and dates stay text. In Kubernetes objects `017` is 15, as in kubectl.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import yaml

from policysched import errors
from policysched.inputs import yaml_aliases, yaml_scalars

MAX_DEPTH = 100
"""The maximum nesting; no Kubernetes object is nested so deeply."""

Value: TypeAlias = Any
"""A YAML value: None, bool, int, float, str, list, or dict with str keys; nested."""

Path: TypeAlias = yaml_aliases.Path

_CONSTANTS: dict[str, Value] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INT = re.compile(r"[-+]?(?:0|[1-9]\d{0,40})")
_OCTAL = re.compile(r"[-+]?0[0-7]{1,40}")
"""An octal integer of YAML 1.1, as Kubernetes reads it (sigs.k8s.io/yaml)."""
_FLOAT = re.compile(r"[-+]?(?:0|[1-9]\d*)\.\d+(?:[eE][-+]\d+)?")
_MERGE_KEY = "<<"
_START_EVENTS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_END_EVENTS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_NOWHERE = yaml_scalars.YamlScalar(0, 0, "")
PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser of libyaml if PyYAML was built with libyaml."""


@dataclasses.dataclass(slots=True)
class YamlDocument:
    """One document of a YAML text.

    Attributes:
        value: the value of the document; None if it is empty.
        lines: path → the 1-based line of the value.
        scalars: path → the scalar, for every value that is a scalar, including "" and constants.
        aliased: the paths of aliases and of the values that they repeat.
    """

    value: Value
    lines: dict[Path, int]
    scalars: dict[Path, yaml_scalars.YamlScalar] = dataclasses.field(default_factory=dict)
    aliased: frozenset[Path] = frozenset()

    def is_aliased(self, path: Path) -> bool:
        """Return whether an alias repeats the text of a value or of a part of it."""
        return any(path[: len(each)] == each or each[: len(path)] == path for each in self.aliased)

    def line(self, path: Path) -> int:
        """Return the line of the value at `path`, or of the nearest enclosing value."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


def load_yaml_documents(
    text: str,
    where: str,
    *,
    with_lines: bool = False,
    has_octals: bool = False,
    allows_nul: bool = True,
) -> Iterator[YamlDocument]:
    """Yield the documents of a YAML text, except empty ones.

    Args:
        text: the YAML text.
        where: the name of the text in errors.
        with_lines: whether to record the positions of values.
        has_octals: whether `010` is the number 8, as in Kubernetes objects, instead of text.
        allows_nul: whether scalars can contain the character NUL, which is invalid in file paths.

    Raises:
        InputError: the text is not YAML, or uses an unsupported feature.
    """
    budget = yaml_aliases.AliasBudget()

    def begin_document() -> _YamlDocumentBuilder:
        return _YamlDocumentBuilder(
            where, budget, with_lines=with_lines, has_octals=has_octals, allows_nul=allows_nul
        )

    builder = begin_document()
    try:
        for event in yaml.parse(text, Loader=PARSER):
            if isinstance(event, yaml.DocumentStartEvent):
                builder = begin_document()
            elif isinstance(event, yaml.DocumentEndEvent):
                if builder.value is not None:
                    yield builder.document
            else:
                builder.add_event(event)
    except yaml.MarkedYAMLError as error:
        raise _make_not_yaml_error(where, error) from error
    except yaml.YAMLError as error:
        raise errors.InputError(where, f"not YAML: {error}".split("\n", maxsplit=1)[0]) from error


def load_yaml_document(text: str, where: str) -> YamlDocument:
    """Return the only document of a YAML text, with lines; its value is None if the text is empty.

    Raises:
        InputError: see `load_yaml_documents`; or the text has several documents.
    """
    documents = list(load_yaml_documents(text, where, with_lines=True, allows_nul=False))
    if len(documents) > 1:
        raise errors.InputError(where, f"has {len(documents)} documents instead of one")
    return documents[0] if documents else YamlDocument(None, {})


def _make_not_yaml_error(where: str, error: yaml.MarkedYAMLError) -> errors.InputError:
    mark = error.problem_mark
    place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
    return errors.InputError(place, f"not YAML: {error.problem}")


class _YamlDocumentBuilder:
    """Builds one value from events, without recursion."""

    def __init__(
        self,
        where: str,
        budget: yaml_aliases.AliasBudget,
        *,
        with_lines: bool,
        has_octals: bool,
        allows_nul: bool,
    ) -> None:
        """Start an empty document; `budget` is shared by all documents of a text."""
        self.value: Value = None
        self._places = yaml_aliases.ValuePositions()
        self._anchors: dict[str, yaml_aliases.AnchoredValue] = {}
        self._open_anchors: list[yaml_aliases.AnchoredValue | None] = []
        self._where = where
        self._budget = budget
        self._with_lines = with_lines
        self._has_octals = has_octals
        self._allows_nul = allows_nul
        self._open: list[Value] = []
        self._keys: list[str | int | None] = []

    @property
    def document(self) -> YamlDocument:
        """The document, complete after its last event."""
        places = self._places
        return YamlDocument(self.value, places.lines, places.scalars, frozenset(places.aliased))

    def add_event(self, event: yaml.Event) -> None:
        """Process the next event of the document."""
        if isinstance(event, yaml.ScalarEvent):
            self._refuse_yaml_extensions(event)
            if "\0" in event.value and not self._allows_nul:
                raise self._make_yaml_error(
                    event, "the text has a NUL character", "remove the character"
                )
            if self._wants_key():
                self._set_key(event)
            else:
                value = self._parse_scalar(event)
                self._insert_value_with_position(value, event)
                self._end_anchor(self._begin_anchor(event, value))
                self._advance_element()
        elif isinstance(event, _START_EVENTS):
            self._refuse_yaml_extensions(event)
            self._begin_container({} if isinstance(event, yaml.MappingStartEvent) else [], event)
        elif isinstance(event, _END_EVENTS):
            self._open.pop()
            self._keys.pop()
            self._end_anchor(self._open_anchors.pop())
            self._advance_element()
        elif isinstance(event, yaml.AliasEvent):
            self._copy_alias(event)
            self._advance_element()

    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1], dict) and self._keys[-1] is None

    def _set_key(self, event: yaml.ScalarEvent) -> None:
        """Begin an entry of a mapping; refuse merge keys, anchored keys and duplicates."""
        if event.value == _MERGE_KEY and event.implicit[0]:
            raise self._make_yaml_error(
                event, "a merge key (`<<`) is not supported here", "write the fields"
            )
        if event.anchor is not None:
            raise self._make_yaml_error(
                event, "an anchor of a key is not supported here", "remove the anchor"
            )
        if event.value in self._open[-1]:
            raise self._make_yaml_error(event, f"the key `{event.value}` appears twice")
        self._keys[-1] = event.value

    def _begin_container(self, container: Value, event: yaml.CollectionStartEvent) -> None:
        """Open a list or mapping, which the following events fill."""
        if self._wants_key():
            raise self._make_yaml_error(event, "a key must be plain text")
        if len(self._open) >= MAX_DEPTH:
            raise self._make_yaml_error(event, f"nested deeper than {MAX_DEPTH} levels")
        self._insert_value_with_position(container, event)
        self._open_anchors.append(self._begin_anchor(event, container))
        self._open.append(container)
        self._keys.append(0 if isinstance(container, list) else None)

    @property
    def _path(self) -> Path:
        return tuple(key for key in self._keys if key is not None)

    def _insert_value_with_position(self, value: Value, event: yaml.Event) -> None:
        if self._with_lines:
            scalar = _locate_scalar(event) if isinstance(event, yaml.ScalarEvent) else None
            self._places.add_value_position(self._path, _get_event_position(event)[0], scalar)
        self._insert(value)

    def _insert(self, value: Value) -> None:
        if not self._open:
            self.value = value
        elif isinstance(self._open[-1], list):
            self._open[-1].append(value)
        else:
            self._open[-1][self._keys[-1]] = value

    # ---------------------------------------------------------------- anchors and aliases

    def _begin_anchor(
        self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, value: Value
    ) -> yaml_aliases.AnchoredValue | None:
        """Register the anchor of a value, if the event has an anchor."""
        if event.anchor is None:
            return None
        path = self._path if self._with_lines else ()
        anchored = yaml_aliases.AnchoredValue(value, path, max(0, self._places.count - 1))
        self._anchors[event.anchor] = anchored
        return anchored

    def _end_anchor(self, anchored: yaml_aliases.AnchoredValue | None) -> None:
        if anchored is not None:
            anchored.end = self._places.count

    def _copy_alias(self, event: yaml.AliasEvent) -> None:
        """Insert a copy of the anchored value, with the source positions of its text."""
        if self._wants_key():
            raise self._make_yaml_error(event, "a key must be plain text")
        anchored = self._anchors.get(event.anchor or "")
        if anchored is None:
            raise self._make_yaml_error(event, f"no anchor `&{event.anchor}` precedes this alias")
        if anchored.end is None:
            raise self._make_yaml_error(event, f"the alias `*{event.anchor}` refers to itself")
        try:
            value = self._budget.copy_anchored_value(anchored.value, MAX_DEPTH - len(self._open))
        except yaml_aliases.AliasLimitError as error:
            raise self._make_yaml_error(
                event, str(error), "replace the aliases by their values"
            ) from error
        if self._with_lines:
            self._places.copy_anchored_positions(anchored, self._path)
        self._insert(value)

    # ---------------------------------------------------------------- scalars

    def _parse_scalar(self, event: yaml.ScalarEvent) -> Value:
        """Return the value of a scalar; with `has_octals`, `017` is an octal integer."""
        value = _convert_scalar_value(event)
        if self._has_octals and event.implicit[0] and _OCTAL.fullmatch(event.value):
            return int(event.value, 8)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._make_yaml_error(
                event, f"the number `{event.value}` is too large", "quote a text"
            )
        return value

    def _advance_element(self) -> None:
        """Advance to the next element of the innermost open list or mapping."""
        if self._open:
            key = self._keys[-1]
            self._keys[-1] = key + 1 if isinstance(key, int) else None

    def _refuse_yaml_extensions(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag not in (None, "!"):
            raise self._make_yaml_error(
                event, f"the tag `{event.tag}` is not supported here", "remove the tag"
            )

    def _make_yaml_error(
        self, event: yaml.Event, problem: str, advice: str = ""
    ) -> errors.InputError:
        line, column = _get_event_position(event)
        return errors.InputError(f"{self._where}:{line}:{column}", problem, help=advice)


def _get_event_position(event: yaml.Event) -> tuple[int, int]:
    """Return the 1-based line and column at which an event begins."""
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _locate_scalar(event: yaml.ScalarEvent) -> yaml_scalars.YamlScalar:
    start, end = event.start_mark, event.end_mark
    style = event.style or ""
    return yaml_scalars.YamlScalar(start.index, end.index, style) if start and end else _NOWHERE


def _convert_scalar_value(event: yaml.ScalarEvent) -> Value:
    """Return the constant or number that a plain scalar represents, or its text."""
    text: str = event.value
    if not event.implicit[0]:  # quoted, or a block scalar
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
