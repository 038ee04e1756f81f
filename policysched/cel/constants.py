"""Planned nodes whose value is known when the expression is compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from policysched.cel.values import Value


@dataclasses.dataclass(frozen=True, slots=True)
class Constant:
    """The plan of a node that has the same value for each frame."""

    value: Value

    def __call__(self, _frame: list[Any]) -> Value:
        """Return the value."""
        return self.value


def read_constants(plans: Sequence[Callable[[list[Any]], Value]]) -> list[Value] | None:
    """Return the values, or None if one is not constant."""
    constants = [each.value for each in plans if isinstance(each, Constant)]
    return constants if len(constants) == len(plans) else None
