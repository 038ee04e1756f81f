"""Implements `--update`, which writes actual results into a test file and changes nothing else.

Each value is replaced at its place in the text, so surrounding comments and layout are unchanged. A
value that is replaced as a whole (a list, or a mapping that loses an entry) is written on one line.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from policysched import errors
from policysched.inputs import plain_yaml
from policysched.policytests import expectations, running
from policysched.policytests import suite as suites


@dataclasses.dataclass(slots=True)
class _ValueOffsets:
    """The place of a value as offsets in the text.

    Attributes:
        start: the start of the value; for a block, the offset after the colon of its key.
        end: the offset after its last character that is not blank.
    """

    start: int
    end: int


def update_expectations_text(
    suite: suites.PolicyTestSuite, results: Iterable[running.CaseResult]
) -> str:
    """Return the text of a test file in which the mismatches of `results` are resolved.

    Raises:
        InputError: an alias repeats a value that must be replaced.
    """
    spans = _find_value_offsets(suite.text)
    edits: list[tuple[int, int, str]] = []
    for result in results:
        for path, value in _list_replacements(result):
            place = result.case.get_path_in_file("expect", *path)
            _refuse_aliased_value(suite, place)
            span = spans[place]
            comment = _extract_comment(suite.text[span.start : span.end])
            edits.append(
                (span.start, span.end, expectations.format_yaml_on_one_line(value) + comment)
            )
    text = suite.text
    for start, end, replacement in sorted(edits, reverse=True):
        before = text[:start]
        end = start + len(text[start:end].rstrip())  # noqa: PLW2901 - the span of a block scalar includes its line end
        gap = " " if before.endswith((":", "-")) else ""
        text = f"{before}{gap}{replacement}{text[end:]}"
    return text


def _refuse_aliased_value(suite: suites.PolicyTestSuite, place: plain_yaml.Path) -> None:
    if suite.document.is_aliased(place):
        raise errors.InputError(
            f"{suite.path}:{suite.document.line(place)}",
            "an alias repeats this expectation, so it is not updated",
            help="write the expectation out in place of the alias",
        )


def _extract_comment(replaced: str) -> str:
    """Return the comment after a key whose block is replaced, or ""."""
    first = replaced.partition("\n")[0].rstrip("\r")
    return first if first.strip().startswith("#") else ""


def _list_replacements(result: running.CaseResult) -> Iterator[tuple[plain_yaml.Path, Any]]:
    """Yield paths and their new values; for nested paths, only the outermost path."""
    wanted: dict[plain_yaml.Path, Any] = {}
    corrected = copy.deepcopy(dict(result.case.expect))
    for each in result.mismatches:
        if not each.path:
            yield (), each.replacement
            return
        _set_value_at_path(corrected, each.path, each.replacement)
        is_removal = expectations.does_replacement_remove_entry(each.replacement)
        wanted[each.path[:1] if is_removal else each.path] = None
    for path in wanted:
        if not any(path[:length] in wanted for length in range(1, len(path))):
            yield path, _get_value_at_path(corrected, path)


def _get_value_at_path(value: Any, path: plain_yaml.Path) -> Any:  # noqa: ANN401 - YAML
    for key in path:
        value = value[key]
    return value


def _set_value_at_path(value: Any, path: plain_yaml.Path, replacement: Any) -> None:  # noqa: ANN401 - YAML
    parent = _get_value_at_path(value, path[:-1])
    if expectations.does_replacement_remove_entry(replacement):
        del parent[path[-1]]
        if not parent and len(path) > 2:  # noqa: PLR2004 - the field itself may be empty
            _set_value_at_path(value, path[:-1], replacement)
    else:
        parent[path[-1]] = replacement


def _find_value_offsets(text: str) -> dict[plain_yaml.Path, _ValueOffsets]:
    """Return the place of the value at each path."""
    reader = _ValueOffsetReader()
    for event in yaml.parse(text, Loader=plain_yaml.PARSER):
        reader.read_event(event)
    return reader.spans


class _ValueOffsetReader:
    """Records offsets from the parser events of a text that is known to be plain YAML."""

    def __init__(self) -> None:
        self.spans: dict[plain_yaml.Path, _ValueOffsets] = {}
        self._keys: list[Any] = []
        self._is_mapping: list[bool] = []
        self._is_block: list[bool] = []
        self._behind_key = 0
        self._last_end = 0

    def read_event(self, event: yaml.Event) -> None:
        """Process the next parser event, and record the offsets of a value that ends with it."""
        if isinstance(event, yaml.ScalarEvent):
            self._read_scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin_collection(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end_collection(event)
        elif isinstance(event, yaml.AliasEvent):
            self._last_end = max(_get_offsets(event)[1], self._last_end)
            self._advance_key_or_index()

    @property
    def _path(self) -> plain_yaml.Path:
        return tuple(self._keys)

    def _read_scalar(self, event: yaml.ScalarEvent) -> None:
        """Record a scalar as a key or a value; an empty value starts after the colon of its key."""
        start, end = _get_offsets(event)
        if self._is_mapping and self._is_mapping[-1] and self._keys[-1] is None:
            self._keys[-1] = event.value
            self._behind_key = end + 1  # the offset after the colon
            return
        is_nothing = start == end
        self.spans[self._path] = _ValueOffsets(self._behind_key if is_nothing else start, end)
        self.spans[self._path].end = max(end, self.spans[self._path].start)
        self._last_end = max(end, self._last_end)
        self._advance_key_or_index()

    def _begin_collection(self, event: yaml.CollectionStartEvent) -> None:
        is_block = not event.flow_style
        start = self._behind_key if is_block else _get_offsets(event)[0]
        self.spans[self._path] = _ValueOffsets(start, start)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        self._keys.append(None if is_mapping else 0)
        self._is_mapping.append(is_mapping)
        self._is_block.append(is_block)

    def _end_collection(self, event: yaml.CollectionEndEvent) -> None:
        self._keys.pop()
        self._is_mapping.pop()
        if not self._is_block.pop():
            self._last_end = _get_offsets(event)[1]
        self.spans[self._path].end = self._last_end
        self._advance_key_or_index()

    def _advance_key_or_index(self) -> None:
        if not self._keys:
            return
        if self._is_mapping[-1]:
            self._keys[-1] = None
        else:
            self._keys[-1] += 1


def _get_offsets(event: yaml.Event) -> tuple[int, int]:
    assert event.start_mark is not None  # noqa: S101 - events of parsed text have marks
    assert event.end_mark is not None  # noqa: S101 - as above
    return event.start_mark.index, event.end_mark.index
