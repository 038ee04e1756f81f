"""Cache compiled device selectors, and their results for each device."""

from __future__ import annotations

import dataclasses
import functools
import weakref
from typing import TYPE_CHECKING, Final, TypeAlias

from policysched.cel import device as device_variables
from policysched.cel import failures, meter, values
from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.cluster.objects import device_objects, objects

if TYPE_CHECKING:
    from policysched.cel import selector

MAX_EXPRESSIONS: Final = 1024
"""Expressions that are cached; every author of claims can add new ones."""


class SelectorError(Exception):
    """An expression does not compile, or has no value for a device."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Failure:
    """The text of an error, in place of a verdict."""

    text: str


_Verdict: TypeAlias = bool | _Failure


class SelectorCache:
    """Evaluates selectors, each one once for a device in a version of its slice."""

    def __init__(self) -> None:
        """Start without expressions."""
        self._variables: weakref.WeakKeyDictionary[SliceDevice, values.Map] = (
            weakref.WeakKeyDictionary()
        )
        self._get_selector = functools.lru_cache(MAX_EXPRESSIONS)(self._compile)

    def find_compilation_error(self, expression: str) -> str:
        """Return why an expression does not compile, or ""."""
        compiled = self._get_selector(expression).compiled
        return compiled.text if isinstance(compiled, _Failure) else ""

    def matches(
        self,
        expression: str,
        device: SliceDevice,
        check_time: meter.CheckTime = meter.check_nothing,
    ) -> bool:
        """Return whether an expression is true for a device.

        Before and during an evaluation, `check_time` can end it with an error; then nothing is
        cached.

        Raises:
            SelectorError: it does not compile, or fails for the device.
        """
        cached = self._get_selector(expression)
        verdict = cached.verdicts.get(device)
        if verdict is None:
            check_time()
            verdict = cached.verdicts[device] = self._evaluate(cached, device, check_time)
        if isinstance(verdict, _Failure):
            raise SelectorError(verdict.text)
        return verdict

    def selects(
        self, device_class: device_objects.DeviceClass, node: objects.Node, device: SliceDevice
    ) -> bool:
        """Return whether a class selects a device that the node can use.

        Raises:
            SelectorError: a selector of the class does not compile, or fails for the device.
            NodeSelectionError: a node selector cannot be parsed.
        """
        is_usable = device.own_nodes is None or device.own_nodes.matches(node)
        return is_usable and all(
            self.matches(each.cel.expression, device)
            for each in device_class.spec.selectors
            if each.cel is not None
        )

    def _compile(self, expression: str) -> _CachedSelector:
        from policysched.cel import selector  # noqa: PLC0415 - most processes compile none

        try:
            return _CachedSelector(selector.compile_selector(expression))
        except failures.CompilationError as error:
            return _CachedSelector(_Failure(f"CEL compile error: {error}"))

    def _evaluate(
        self, cached: _CachedSelector, device: SliceDevice, check_time: meter.CheckTime
    ) -> _Verdict:
        if isinstance(cached.compiled, _Failure):
            return cached.compiled
        try:
            return cached.compiled.matches(self._get_variable(device), check_time=check_time)
        except failures.EvaluationError as error:
            return _Failure(f"CEL runtime error: {error}")

    def _get_variable(self, device: SliceDevice) -> values.Map:
        value = self._variables.get(device)
        if value is None:
            value = self._variables[device] = _make_variable(device)
        return value


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class _CachedSelector:
    """A compiled expression, or why it does not compile, and its verdicts."""

    compiled: selector.CompiledSelector | _Failure
    verdicts: weakref.WeakKeyDictionary[SliceDevice, _Verdict] = dataclasses.field(
        default_factory=weakref.WeakKeyDictionary
    )


def _make_variable(device: SliceDevice) -> values.Map:
    source = device.device
    return device_variables.DeviceVariable(
        device.id.driver,
        {name: _convert(name, each) for name, each in source.attributes.items()},
        {name: str(each.value) for name, each in source.capacity.items()},
        source.allow_multiple_allocations,
    ).make_value()


def _convert(name: str, attribute: device_objects.DeviceAttribute) -> device_variables.Attribute:
    """Return the value of an attribute.

    Raises:
        EvaluationError: it has none of the known types.
    """
    known = (attribute.int_value, attribute.bool_value, attribute.string_value)
    for value in known:
        if value is not None:
            return value
    if attribute.version_value is None:
        raise failures.EvaluationError(f"attribute {name}: unsupported attribute value")
    return device_variables.VersionText(attribute.version_value)
