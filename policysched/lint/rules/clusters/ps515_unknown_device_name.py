"""PS515: a device class, attribute or capacity that the cluster does not have.

A class with a selector that cannot select any device is reported, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

from policysched import spelling
from policysched.lang.checked import checked_expr, rule_parts
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts

_MOST_CLASSES: Final = 5
"""Classes that a finding names."""


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each unknown name, if the listing has names of its kind at all."""
    cluster = about.cluster
    if cluster is None:
        return
    for part in _find_device_numbers(about):
        match part.kind:
            case "devices" | "freeDevices" | "takenDevices":
                known = cluster.devices.classes
                if known and part.name not in known:
                    message = f"{cluster.name} has no DeviceClass `{part.name}`"
                    yield _report_unknown_class(about, part, message, known)
                elif part.name in cluster.devices.failures:
                    yield _report_failing_class(cluster, part)
            case "deviceAttribute":
                yield from _check_attribute(about, cluster, part)
            case "deviceCapacity":
                yield from _check_capacity(about, cluster, part)


def _find_device_numbers(about: rule_input.LintInput) -> Iterator[checked_expr.DeviceNumber]:
    """Yield the numbers about devices in rules, once for each place in the text."""
    found = {
        each.span: each
        for policy in about.program.policies
        for rule_ in policy.rules
        for expr in rule_parts.list_rule_expressions(rule_)
        for each in checked_expr.walk_expressions(expr)
        if isinstance(each, checked_expr.DeviceNumber)
    }
    yield from found.values()


def _report_unknown_class(
    about: rule_input.LintInput,
    part: checked_expr.DeviceNumber,
    message: str,
    known: frozenset[str],
) -> diagnostics.Diagnostic:
    """Return the finding for an unknown class, with all classes if no name is similar."""
    found = _suggest_name(about, part, message, known)
    if found.help:
        return found
    names = spelling.join_some_names([f"`{each}`" for each in sorted(known)], _MOST_CLASSES)
    return dataclasses.replace(found, help=f"there are the classes {names}")


def _report_failing_class(
    cluster: cluster_facts.ClusterFacts, part: checked_expr.DeviceNumber
) -> diagnostics.Diagnostic:
    """Return the finding for a class with a selector that cannot select any device."""
    failure = cluster.devices.failures[part.name]
    problem = f"fails on every device of {cluster.name}"
    advice = "correct the selector, or test with `in` whether a device has an attribute"
    if not failure.compiles:
        problem, advice = "does not compile", "correct the selector"
    return diagnostics.Diagnostic(
        "PS515",
        f"a selector of the DeviceClass `{part.name}` {problem}",
        part.span,
        notes=(failure.error, "such devices are not selected, so the number is 0 on every node"),
        help=advice,
    )


def _check_attribute(
    about: rule_input.LintInput,
    cluster: cluster_facts.ClusterFacts,
    part: checked_expr.DeviceNumber,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if no device has the attribute, or none has it as a whole number."""
    devices = cluster.devices
    if part.name in devices.numbers or not (devices.attributes or devices.capacities):
        return
    if part.name in devices.attributes:
        message = f"the attribute `{part.name}` is a whole number on no device of {cluster.name}"
        yield diagnostics.Diagnostic(
            "PS515", message, part.span, notes=("the number is missing for every pod",)
        )
    elif part.name in devices.capacities:
        yield _suggest_function(about, cluster, part, "deviceCapacity")
    else:
        message = f"no device of {cluster.name} has the attribute `{part.name}`"
        yield _suggest_name(about, part, message, devices.numbers)


def _check_capacity(
    about: rule_input.LintInput,
    cluster: cluster_facts.ClusterFacts,
    part: checked_expr.DeviceNumber,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if no device has the capacity."""
    devices = cluster.devices
    if part.name in devices.capacities or not (devices.attributes or devices.capacities):
        return
    if part.name in devices.numbers:
        yield _suggest_function(about, cluster, part, "deviceAttribute")
    else:
        message = f"no device of {cluster.name} has the capacity `{part.name}`"
        yield _suggest_name(about, part, message, devices.capacities)


def _suggest_name(
    about: rule_input.LintInput,
    part: checked_expr.DeviceNumber,
    message: str,
    known: frozenset[str],
) -> diagnostics.Diagnostic:
    """Return the finding for an unknown name, with a fix to the most similar one.

    A name in another domain is as similar as one with a typo.
    """
    elsewhere = sorted(each for each in known if each.endswith(f"/{_get_identifier(part.name)}"))
    nearest = spelling.find_nearest_names(part.name, known) or elsewhere
    names = [f"`{each}`" for each in nearest[: spelling.MAX_SUGGESTIONS]]
    return diagnostics.Diagnostic(
        "PS515",
        message,
        part.span,
        help=f"did you mean {spelling.join_alternatives(names)}?" if names else "",
        fix=_replace_name(about, part, nearest[0]) if nearest else None,
    )


def _get_identifier(name: str) -> str:
    return name.rpartition("/")[2]


def _suggest_function(
    about: rule_input.LintInput,
    cluster: cluster_facts.ClusterFacts,
    part: checked_expr.DeviceNumber,
    other: str,
) -> diagnostics.Diagnostic:
    """Return the finding for a name that the other function of devices can read."""
    wanted, known_as = (
        ("capacity", "an attribute")
        if part.kind == "deviceCapacity"
        else ("attribute", "a capacity")
    )
    return diagnostics.Diagnostic(
        "PS515",
        f"no device of {cluster.name} has the {wanted} `{part.name}`",
        part.span,
        help=f"`{part.name}` is {known_as}: write `{other}(…)`",
        fix=_replace_function(about, part, other),
    )


def _replace_name(
    about: rule_input.LintInput, part: checked_expr.DeviceNumber, new: str
) -> diagnostics.Fix:
    """Return the fix that writes another name, in quotes if it needs them."""
    text = about.texts[part.span.file]
    start = text.text.index(part.name, text.text.index("(", part.span.start))
    is_quoted = text.text[start - 1] == '"'
    written = new if is_quoted or new.isidentifier() else f'"{new}"'
    return diagnostics.Fix(
        (diagnostics.TextEdit(text.span(start, start + len(part.name)), written),), safe=False
    )


def _replace_function(
    about: rule_input.LintInput, part: checked_expr.DeviceNumber, new: str
) -> diagnostics.Fix:
    start = part.span.start
    span = about.texts[part.span.file].span(start, start + len(part.kind))
    return diagnostics.Fix((diagnostics.TextEdit(span, new),), safe=False)


RULE = rule.LintRule("PS515", diagnostics.Severity.WARNING, _find_violations)
