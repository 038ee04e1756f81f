"""Aliases of a YAML text: copies of limited size, with the places of the repeated text."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

from policysched.inputs import yaml_scalars

MAX_VALUES = 100_000
"""Limit of the values in all aliases of a text; 100 characters count as one more value."""
_CHARACTERS_EACH = 100

Path: TypeAlias = tuple[str | int, ...]


class AliasLimitError(Exception):
    """The aliases exceed the limit of values or of nesting."""


@dataclasses.dataclass(slots=True)
class AnchoredValue:
    """A value with an anchor.

    Attributes:
        value: the value; it grows until its last event.
        path: its path in the document.
        start: number of its first place in `ValuePlaces`.
        end: number after its last place; None before its last event.
    """

    value: Any
    path: Path
    start: int
    end: int | None = None


class ValuePlaces:
    """The places of the values of a document.

    Attributes:
        lines: 1-based line of the value at each path.
        scalars: the scalar at each path, if the value is one.
        aliased: paths of aliases and of the values that they repeat.
    """

    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.scalars: dict[Path, yaml_scalars.YamlScalar] = {}
        self.aliased: set[Path] = set()
        self._order: list[Path] = []

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self._order)

    def add_value_place(
        self, path: Path, line: int, scalar: yaml_scalars.YamlScalar | None
    ) -> None:
        """Add the place of a value; the values inside it follow."""
        self.lines[path] = line
        self._order.append(path)
        if scalar is not None:
            self.scalars[path] = scalar

    def repeat_anchored_places(self, anchored: AnchoredValue, path: Path) -> None:
        """Add the places of an anchored value again, as those of a value at `path`."""
        self.aliased |= {path, anchored.path}
        for inner in self._order[anchored.start : anchored.end]:
            repeated = path + inner[len(anchored.path) :]
            self.add_value_place(repeated, self.lines[inner], self.scalars.get(inner))


class AliasBudget:
    """Counts the values that the aliases of a text may still add."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def copy_anchored_value(self, value: Any, levels: int) -> Any:  # noqa: ANN401 - a value of YAML
        """Return a copy of a value with at most this many levels.

        Raises:
            AliasLimitError: it is too deep, or exceeds the remaining budget.
        """
        self._spend_on_value(value)
        if isinstance(value, dict | list) and levels <= 0:
            raise AliasLimitError("aliases nest values deeper than 100 levels")
        match value:
            case dict():
                for key in value:
                    self._spend_on_value(key)
                return {
                    key: self.copy_anchored_value(inner, levels - 1) for key, inner in value.items()
                }
            case list():
                return [self.copy_anchored_value(inner, levels - 1) for inner in value]
            case _:
                return value

    def _spend_on_value(self, value: Any) -> None:  # noqa: ANN401 - as above
        self._left -= 1 + (len(value) // _CHARACTERS_EACH if isinstance(value, str) else 0)
        if self._left < 0:
            raise AliasLimitError(f"aliases expand to more than {MAX_VALUES:,} values")
