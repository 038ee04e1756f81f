"""What an import has to say: what cannot be expressed, and what is worth knowing."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from policysched import control_characters, errors
from policysched.inputs import plain_yaml


class FindingSeverity(enum.StrEnum):
    """A warning is a decision that may differ; a note is not."""

    WARNING = "warning"
    NOTE = "note"


@dataclasses.dataclass(frozen=True, slots=True)
class ImportFinding:
    """One thing that the result does not say, or says in another way.

    Attributes:
        where: the file as the user named it.
        line: 1-based.
        problem: what it is, lowercase and without a final period.
        help: what to do about it.
    """

    severity: FindingSeverity
    where: str
    line: int
    problem: str
    help: str

    def __str__(self) -> str:
        """Return it on one line, with its place."""
        return f"{self.where}:{self.line}: {self.severity}: {self.description}"

    @property
    def description(self) -> str:
        """The problem and what to do about it, without the place."""
        return f"{self.problem} ({self.help})"


@dataclasses.dataclass(frozen=True, slots=True)
class ValueLocation:
    """A value in a document.

    Attributes:
        where: the file.
        document: what the file says, with its lines.
        path: of the value.
        offset: lines before the document, if it stands within another one.
    """

    where: str
    document: plain_yaml.YamlDocument
    path: plain_yaml.Path = ()
    offset: int = 0

    @property
    def line(self) -> int:
        """The 1-based line of the value, or of the nearest one around it."""
        return self.document.line(self.path) + self.offset

    @property
    def dotted_path(self) -> str:
        """The path as people write it: `profiles[0].plugins`."""
        text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path)
        return text.removeprefix(".")

    @property
    def origin_comment(self) -> str:
        """The place as a comment tells it."""
        return f"line {self.line}: {self.dotted_path}" if self.path else f"line {self.line}"

    def locate_child(self, *keys: str | int) -> ValueLocation:
        """Return the place of a value within this one."""
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
    """Return the place of a value that has no lines of its own."""
    return ValueLocation(where, plain_yaml.YamlDocument(value, {}))


class FindingCollector:
    """Collects findings, each once."""

    def __init__(self) -> None:
        self._found: dict[ImportFinding, None] = {}

    def warn(self, at: ValueLocation, problem: str, advice: str) -> None:
        """Tell what cannot be expressed."""
        self._add(FindingSeverity.WARNING, at, problem, advice)

    def note(self, at: ValueLocation, problem: str, advice: str) -> None:
        """Tell what is worth knowing but changes no decision."""
        self._add(FindingSeverity.NOTE, at, problem, advice)

    @property
    def findings(self) -> tuple[ImportFinding, ...]:
        """All findings, in the order of the lines."""
        return tuple(sorted(self._found, key=lambda each: (each.where, each.line)))

    @property
    def has_warnings(self) -> bool:
        """Whether a decision may differ."""
        return any(each.severity is FindingSeverity.WARNING for each in self._found)

    def _add(self, severity: FindingSeverity, at: ValueLocation, problem: str, advice: str) -> None:
        text = control_characters.blank_control_characters(problem)
        self._found[ImportFinding(severity, at.where, at.line, text, advice)] = None
