"""Compile a device selector once, then evaluate it for devices.

selector = compile_selector('device.attributes["gpu.example.com"].model == "A100"')
selector.matches(device.make_value())
"""

from __future__ import annotations

import dataclasses

from policysched.cel.checker import FIRST_FREE_SLOT, check
from policysched.cel.failures import AbortedError, EvaluationError
from policysched.cel.meter import MAX_UNITS, CheckTime, Meter, check_nothing
from policysched.cel.parser import parse
from policysched.cel.planner import plan
from policysched.cel.plans import Evaluate
from policysched.cel.values import Map, get_type_name


@dataclasses.dataclass(frozen=True, slots=True)
class CompiledSelector:
    """A compiled expression.

    Attributes:
        expression: its text.
    """

    expression: str
    _evaluate: Evaluate
    _slots: int

    def matches(
        self,
        device: Map,
        *,
        max_units: int = MAX_UNITS,
        check_time: CheckTime = check_nothing,
    ) -> bool:
        """Return whether the expression is true for a device, made by `DeviceVariable.make_value`.

        An error of `check_time` ends the evaluation.

        Raises:
            EvaluationError: it has no value for this device, or takes more than `max_units`.
        """
        frame = [Meter(max_units, check_time), device, *[None] * (self._slots - FIRST_FREE_SLOT)]
        try:
            value = self._evaluate(frame)
        except AbortedError as error:
            raise EvaluationError(str(error)) from None
        if type(value) is not bool:
            name = get_type_name(value)
            raise EvaluationError(f"CEL result of type {name} could not be converted to bool")
        return value


def compile_selector(expression: str) -> CompiledSelector:
    """Return the selector of an expression.

    Raises:
        CompilationError: the expression is not a valid selector.
    """
    tree = parse(expression)
    slots = check(tree)
    return CompiledSelector(expression, plan(tree), slots)
