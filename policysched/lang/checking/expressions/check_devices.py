"""Check functions of devices: `freeDevices(gpu)`, `deviceCapacity("gpu.example.com/memory")`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from policysched import units
from policysched.lang.checked import checked_expr
from policysched.lang.checking import number_reading
from policysched.lang.checking.expressions import word_arguments
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import kubernetes_names, vocabulary


def check_device_call(
    env: number_reading.NameEnvironment, call: syntax_expr.Call
) -> checked_expr.DeviceNumber | None:
    """Return the number; None if an error was reported."""
    name: Any = call.function.text
    if env.target == "cluster":
        env.found.add_error(
            "PS108",
            f"`{name}(…)` reads devices of nodes, but this expression is evaluated for clusters",
            call.span,
            help="compare amounts of the cluster, such as `free(cpu)`",
        )
        return None
    example = word_arguments.make_example_call(name)
    word = word_arguments.read_word_argument(env.found, call, example)
    if word is None:
        return None
    rules = _CLASS_NAMES if name in vocabulary.DEVICE_COUNT_FUNCTIONS else _KEYS
    problem = rules.find_problem(word.text)
    if not word.text:
        env.found.add_error(
            "PS107", f"the {rules.subject} is empty", word.span, help=f"write `{example}`"
        )
        return None
    if problem:
        suggestion = rules.guess_name(word.text)
        env.found.add_error(
            "PS107",
            f"the {rules.subject} `{word.text}` {problem}",
            word.span,
            help="" if rules.find_problem(suggestion) else f"write `{_quote(suggestion)}`",
        )
        return None
    return checked_expr.DeviceNumber(name, word.text, _find_unit(name, word.text), call.span)


def _guess_class_name(written: str) -> str:
    """Return a name as Kubernetes would accept it."""
    return written.lower().replace("_", "-")


def _guess_key(written: str) -> str:
    """Return a name with a domain in lower case, and an identifier without hyphens."""
    domain, slash, identifier = written.rpartition("/")
    return domain.lower() + slash + identifier.replace("-", "_")


@dataclasses.dataclass(frozen=True, slots=True)
class _NameRules:
    """The rules for the argument of a function.

    Attributes:
        subject: the kind of the name, in messages.
        find_problem: returns why a name is invalid, or "".
        guess_name: returns a similar name, which is usually valid.
    """

    subject: str
    find_problem: Callable[[str], str]
    guess_name: Callable[[str], str]


_CLASS_NAMES: Final = _NameRules(
    "name of a DeviceClass", kubernetes_names.find_dns_subdomain_problem, _guess_class_name
)
_KEYS: Final = _NameRules(
    "name of an attribute or capacity", kubernetes_names.find_device_key_problem, _guess_key
)


def _quote(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


def report_devices_of_pod(
    env: number_reading.NameEnvironment, condition: checked_expr.TypedExpr
) -> bool:
    """Report the first part that reads the devices of the pod; return whether there is one.

    Devices for a node are chosen only after it has passed all filters.
    """
    for each in checked_expr.walk_expressions(condition):
        if not isinstance(each, checked_expr.DeviceNumber) or not each.reads_pod:
            continue
        env.found.add_error(
            "PS108",
            f"`{each.kind}(…)` is only allowed in scores",
            each.span,
            notes=("the devices for a pod are chosen after its nodes have been filtered",),
            help="compare `freeDevices(…)`, or select devices in the ResourceClaim",
        )
        return True
    return False


def _find_unit(name: str, key: str) -> units.Unit:
    """Return bytes for a capacity named `memory`, and a plain number for all others."""
    is_memory = name == "deviceCapacity" and key.rpartition("/")[2] == "memory"
    return units.find_resource_unit("memory") if is_memory else units.NUMBER
