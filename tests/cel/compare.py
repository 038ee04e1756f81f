"""Compare policysched's results with those of kube-scheduler's CEL."""

from __future__ import annotations

import dataclasses
import random
import re
from typing import Any

from policysched.cel.device import Attribute, DeviceVariable, VersionText
from policysched.cel.failures import CompilationError, EvaluationError
from policysched.cel.selector import compile_selector
from tests.cel import generate
from tests.cel.oracle_process import Answer, Oracle

COMPARED_TEXTS = re.compile(
    r"no such key: .*|no such overload.*|integer overflow|division by zero|modulus by zero"
    r"|index out of range: -?\d+|cannot convert value to integer|optional\.none\(\) dereference"
)
"""Errors whose texts must be equal; other texts are not compared."""
DEVICES_EACH = 5


@dataclasses.dataclass(frozen=True)
class Difference:
    """An expression with two different results for a device."""

    expression: str
    device: dict[str, Any]
    real: bool | str
    own: bool | str

    def __str__(self) -> str:
        return f"{self.expression}\n  real: {self.real}\n  own:  {self.own}\n  {self.device}"


@dataclasses.dataclass
class Tally:
    """Numbers of compared pairs of an expression and a device, and results of the real code."""

    pairs: int = 0
    compile_errors: int = 0
    matches: int = 0
    errors: int = 0
    differences: list[Difference] = dataclasses.field(default_factory=list)


def compare_generated(oracle: Oracle, rng: random.Random, pairs: int) -> Tally:
    """Compare `pairs` pairs of an expression and a device."""
    tally = Tally()
    while tally.pairs < pairs:
        case = generate.make_case(rng, DEVICES_EACH)
        real = oracle.ask(case.expression, case.devices)
        own = ask_policysched(case.expression, case.devices)
        tally.pairs += len(case.devices)
        tally.compile_errors += bool(real.compile_error)
        tally.matches += sum(result is True for result in real.results)
        tally.errors += sum(isinstance(result, str) for result in real.results)
        tally.differences += find_differences(case, real, own)
    return tally


def ask_policysched(expression: str, devices: list[dict[str, Any]]) -> Answer:
    """Return policysched's answer in the format of the oracle."""
    try:
        selector = compile_selector(expression)
    except CompilationError as error:
        return Answer(str(error), [])
    results: list[bool | str] = []
    for device in devices:
        try:
            results.append(selector.matches(read_device(device).make_value()))
        except EvaluationError as error:
            results.append(str(error))
    return Answer("", results)


def read_device(device: dict[str, Any]) -> DeviceVariable:
    """Return the device of a ResourceSlice's JSON."""
    return DeviceVariable(
        driver=device["driver"],
        attributes={name: _read_attribute(each) for name, each in device["attributes"].items()},
        capacity={name: each["value"] for name, each in device["capacity"].items()},
        allows_multiple_allocations=device["allowMultipleAllocations"],
    )


def _read_attribute(attribute: dict[str, Any]) -> Attribute:
    ((kind, value),) = attribute.items()
    known: Attribute = VersionText(value) if kind == "version" else value
    return known


def find_differences(case: generate.Case, real: Answer, own: Answer) -> list[Difference]:
    """Return the differences of two answers.

    An expression may fail when it is compiled in one and for every device in the other: either way
    the scheduler reports an error.
    """
    count = len(case.devices)
    reals = real.results or [f"compile: {real.compile_error}"] * count
    owns = own.results or [f"compile: {own.compile_error}"] * count
    return [
        Difference(case.expression, device, real_result, own_result)
        for device, real_result, own_result in zip(case.devices, reals, owns, strict=True)
        if not _agree(real_result, own_result)
    ]


def _agree(real: bool | str, own: bool | str) -> bool:
    if isinstance(real, bool) or isinstance(own, bool):
        return real is own
    return COMPARED_TEXTS.fullmatch(real) is None or real == own
