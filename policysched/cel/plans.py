"""Plans of nodes: functions of a frame.

A frame is a list: the meter, the device, and a slot for each variable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from policysched.cel.values import Value

Frame: TypeAlias = list[Any]
Evaluate: TypeAlias = Callable[[Frame], Value]


@dataclasses.dataclass(frozen=True, slots=True)
class Constant:
    """The plan of a node that has the same value for each frame."""

    value: Value

    def __call__(self, _frame: Frame) -> Value:
        """Return the value."""
        return self.value


def read_constants(plans: Sequence[Evaluate]) -> list[Value] | None:
    """Return the values, or None if one is not constant."""
    constants = [each.value for each in plans if isinstance(each, Constant)]
    return constants if len(constants) == len(plans) else None
