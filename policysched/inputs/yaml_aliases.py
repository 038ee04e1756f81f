"""Resolves aliases of a YAML text: copies values up to a size limit, with source positions."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

from policysched.inputs import yaml_scalars

MAX_VALUES = 100_000
"""Limit on the number of values in all aliases of a text; every 100 characters add one."""
_CHARACTERS_EACH = 100

Path: TypeAlias = tuple[str | int, ...]


class AliasLimitError(Exception):
    """The aliases exceed the limit on values or on nesting."""


@dataclasses.dataclass(slots=True)
class AnchoredValue:
    """A value that aliases can repeat, because it has an anchor.

    Attributes:
        value: the value, which is complete after its last event.
        path: the path of the value in the document.
        start: the index of its first position in `ValuePositions`.
        end: the index after its last position; None until its last event.
    """

    value: Any
    path: Path
    start: int
    end: int | None = None


class ValuePositions:
    """The source positions of the values in a document.

    Attributes:
        lines: path → the 1-based line of the value.
        scalars: path → the scalar, for every value that is a scalar.
        aliased: the paths of aliases and of the values that they repeat.
    """

    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.scalars: dict[Path, yaml_scalars.YamlScalar] = {}
        self.aliased: set[Path] = set()
        self._order: list[Path] = []

    @property
    def count(self) -> int:
        """The number of recorded positions."""
        return len(self._order)

    def add_value_position(
        self, path: Path, line: int, scalar: yaml_scalars.YamlScalar | None
    ) -> None:
        """Add the position of a value; the caller adds the values inside it afterwards."""
        self.lines[path] = line
        self._order.append(path)
        if scalar is not None:
            self.scalars[path] = scalar

    def copy_anchored_positions(self, anchored: AnchoredValue, path: Path) -> None:
        """Add the positions of an anchored value a second time, under the path of its alias."""
        self.aliased |= {path, anchored.path}
        for inner in self._order[anchored.start : anchored.end]:
            repeated = path + inner[len(anchored.path) :]
            self.add_value_position(repeated, self.lines[inner], self.scalars.get(inner))


class AliasBudget:
    """Counts the values that the aliases of a text can still add."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def copy_anchored_value(self, value: Any, levels: int) -> Any:  # noqa: ANN401 - a value of YAML
        """Return a copy of a value with at most `levels` levels of nesting.

        Raises:
            AliasLimitError: the value is nested too deeply, or exceeds the remaining budget.
        """
        self._count_copied_value(value)
        if isinstance(value, dict | list) and levels <= 0:
            raise AliasLimitError("aliases nest values deeper than 100 levels")
        match value:
            case dict():
                for key in value:
                    self._count_copied_value(key)
                return {
                    key: self.copy_anchored_value(inner, levels - 1) for key, inner in value.items()
                }
            case list():
                return [self.copy_anchored_value(inner, levels - 1) for inner in value]
            case _:
                return value

    def _count_copied_value(self, value: Any) -> None:  # noqa: ANN401 - as above
        self._left -= 1 + (len(value) // _CHARACTERS_EACH if isinstance(value, str) else 0)
        if self._left < 0:
            raise AliasLimitError(f"aliases expand to more than {MAX_VALUES:,} values")
