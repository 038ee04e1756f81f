"""The variable `device` of selectors."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TypeAlias

from policysched.cel.failures import EvaluationError
from policysched.cel.functions.quantities import parse_quantity
from policysched.cel.functions.semvers import parse_semver
from policysched.cel.values import Map, Value

_EMPTY = Map({})


@dataclasses.dataclass(frozen=True, slots=True)
class VersionText:
    """An attribute that is a semantic version."""

    text: str


Attribute: TypeAlias = int | bool | str | VersionText


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceVariable:
    """The fields of a device in a ResourceSlice that selectors can read.

    Attributes:
        driver: name of the driver, which is the domain of names without one.
        attributes: by name, with or without domain (`gpu.example.com/model`, `model`).
        capacity: quantities as texts, by name.
        allows_multiple_allocations: whether several claims can share it.
    """

    driver: str
    attributes: Mapping[str, Attribute] = dataclasses.field(default_factory=dict)
    capacity: Mapping[str, str] = dataclasses.field(default_factory=dict)
    allows_multiple_allocations: bool = False

    def make_value(self) -> Map:
        """Return the value of the variable `device`.

        Raises:
            EvaluationError: an attribute is no version, or a capacity no quantity.
        """
        attributes = {name: _read_attribute(name, each) for name, each in self.attributes.items()}
        capacity = {name: parse_quantity(each) for name, each in self.capacity.items()}
        return Map(
            {
                "driver": self.driver,
                "allowMultipleAllocations": self.allows_multiple_allocations,
                "attributes": self._group_by_domain(attributes),
                "capacity": self._group_by_domain(capacity),
            }
        )

    def _group_by_domain(self, values: Mapping[str, Value]) -> Map:
        """Return a map of maps, in which an unknown domain has an empty map."""
        domains: dict[str, dict[str, Value]] = {}
        for name, value in values.items():
            domain, slash, identifier = name.partition("/")
            if not slash:
                domain, identifier = self.driver, name
            domains.setdefault(domain, {})[identifier] = value
        maps = {domain: Map(items) for domain, items in domains.items()}
        return Map(maps, default=_EMPTY)


def _read_attribute(name: str, attribute: Attribute) -> Value:
    if not isinstance(attribute, VersionText):
        return attribute
    try:
        return parse_semver(attribute.text)
    except EvaluationError as error:
        raise EvaluationError(f"attribute {name}: parse semantic version: {error}") from None
