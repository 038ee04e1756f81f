"""Findings of an import: parts that cannot be expressed, and other remarks."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from policysched import control_characters, errors
from policysched.inputs import plain_yaml


class FindingSeverity(enum.StrEnum):
    """WARNING if a decision may differ from the source's, NOTE otherwise."""

    WARNING = "warning"
    NOTE = "note"


@dataclasses.dataclass(frozen=True, slots=True)
class ImportFinding:
    """One part of the source that the result does not express, or expresses differently.

    Attributes:
        where: the file as the user named it.
        line: the line in that file, 1-based.
        problem: lowercase and without a final period.
        help: the action to take.
    """

    severity: FindingSeverity
    where: str
    line: int
    problem: str
    help: str

    def __str__(self) -> str:
        """Return the finding on one line, with its place."""
        return f"{self.where}:{self.line}: {self.severity}: {self.description}"

    @property
    def description(self) -> str:
        """The problem and the action to take, without the place."""
        return f"{self.problem} ({self.help})"


@dataclasses.dataclass(frozen=True, slots=True)
class ValueLocation:
    """The location of a value in a document.

    Attributes:
        where: the file.
        document: the parsed document, which maps paths to lines.
        path: the path of the value in the document.
        offset: the number of lines before the document if another document contains it.
    """

    where: str
    document: plain_yaml.YamlDocument
    path: plain_yaml.Path = ()
    offset: int = 0

    @property
    def line(self) -> int:
        """The 1-based line of the value, or of the nearest enclosing value."""
        return self.document.line(self.path) + self.offset

    @property
    def dotted_path(self) -> str:
        """The path in the usual notation: `profiles[0].plugins`."""
        text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path)
        return text.removeprefix(".")

    @property
    def origin_comment(self) -> str:
        """The location in the form of a comment."""
        return f"line {self.line}: {self.dotted_path}" if self.path else f"line {self.line}"

    def locate_child(self, *keys: str | int) -> ValueLocation:
        """Return the location of a value inside this value."""
        return dataclasses.replace(self, path=(*self.path, *keys))


class MalformedFieldError(errors.InputError):
    """A field that no API server would accept.

    Attributes:
        at: the field.
    """

    def __init__(self, at: ValueLocation, problem: str) -> None:
        super().__init__(f"{at.where}:{at.line}", problem)
        self.at = at


def make_lineless_location(where: str, value: Any) -> ValueLocation:  # noqa: ANN401 - any YAML value
    """Return the location of a value that has no line numbers."""
    return ValueLocation(where, plain_yaml.YamlDocument(value, {}))


class FindingCollector:
    """Collects findings and drops duplicates."""

    def __init__(self) -> None:
        self._found: dict[ImportFinding, None] = {}

    def warn(self, at: ValueLocation, problem: str, advice: str) -> None:
        """Report a part of the source that cannot be expressed exactly."""
        self._add(FindingSeverity.WARNING, at, problem, advice)

    def note(self, at: ValueLocation, problem: str, advice: str) -> None:
        """Report a remark that affects no decision."""
        self._add(FindingSeverity.NOTE, at, problem, advice)

    @property
    def findings(self) -> tuple[ImportFinding, ...]:
        """All findings, ordered by file and line."""
        return tuple(sorted(self._found, key=lambda each: (each.where, each.line)))

    @property
    def has_warnings(self) -> bool:
        """Whether any finding is a warning."""
        return any(each.severity is FindingSeverity.WARNING for each in self._found)

    def _add(self, severity: FindingSeverity, at: ValueLocation, problem: str, advice: str) -> None:
        text = control_characters.blank_control_characters(problem)
        self._found[ImportFinding(severity, at.where, at.line, text, advice)] = None
