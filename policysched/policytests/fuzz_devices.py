"""Gives nodes and pods of generated clusters the devices that policies read."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable
from typing import Any

from policysched.lang.syntax import syntax_expr
from policysched.lang.words import vocabulary

_MOST_DEVICES = 3
_HAS_CLASS = 0.7
_HAS_VALUE = 0.7
_ATTRIBUTES = (-1, 0, 7, "a")
_CAPACITIES = (0, "1Gi", "80Gi")
_SOME_CLASS = "devices"
"""The class of the devices if policies only read attributes and capacities."""


@dataclasses.dataclass(slots=True)
class DeviceNames:
    """The names of classes, attributes and capacities that policies read."""

    classes: set[str] = dataclasses.field(default_factory=set)
    attributes: set[str] = dataclasses.field(default_factory=set)
    capacities: set[str] = dataclasses.field(default_factory=set)


def collect_device_names(nodes: Iterable[syntax_expr.SyntaxNode]) -> DeviceNames:
    """Return the names that the functions of devices among the nodes of syntax trees read."""
    found = DeviceNames()
    for node in nodes:
        match node:
            case syntax_expr.Call(
                function=function,
                arguments=(
                    syntax_expr.Argument(
                        value=syntax_expr.Ref(name=value) | syntax_expr.Text(value=value)
                    ),
                ),
            ):
                _add_name(found, function.text, value.text)
            case _:
                pass
    if (found.attributes or found.capacities) and not found.classes:
        found.classes.add(_SOME_CLASS)
    return found


def _add_name(found: DeviceNames, function: str, name: str) -> None:
    if function in vocabulary.DEVICE_COUNT_FUNCTIONS:
        found.classes.add(name)
    elif function == "deviceAttribute":
        found.attributes.add(name)
    elif function == "deviceCapacity":
        found.capacities.add(name)


def add_devices(
    nodes: dict[str, dict[str, Any]],
    pods: dict[str, dict[str, Any]],
    names: DeviceNames,
    rng: random.Random,
) -> None:
    """Add `devices` to nodes and pods in the format of a test file; running pods have their own."""
    if not names.classes:
        return
    free: dict[str, dict[str, int]] = {}
    for node, fields in nodes.items():
        fields["devices"] = {
            name: _generate_devices(names, rng)
            for name in sorted(names.classes)
            if rng.random() < _HAS_CLASS
        }
        free[node] = {name: each["count"] for name, each in fields["devices"].items()}
    existing = sorted({name for counts in free.values() for name in counts})
    for fields in pods.values():
        wanted = {name: rng.randint(0, _MOST_DEVICES) for name in existing}
        home = fields.get("node")
        if home is not None:
            wanted = {name: min(wanted[name], count) for name, count in free[home].items()}
            free[home] = {name: count - wanted[name] for name, count in free[home].items()}
        fields["devices"] = wanted


def _generate_devices(names: DeviceNames, rng: random.Random) -> dict[str, Any]:
    return {
        "count": rng.randint(0, _MOST_DEVICES),
        "attributes": _generate_values(names.attributes, _ATTRIBUTES, rng),
        "capacity": _generate_values(names.capacities, _CAPACITIES, rng),
    }


def _generate_values(
    names: set[str], values: tuple[int | str, ...], rng: random.Random
) -> dict[str, int | str]:
    return {name: rng.choice(values) for name in sorted(names) if rng.random() < _HAS_VALUE}
