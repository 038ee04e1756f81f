"""Report values that a field can never have, such as names that Kubernetes refuses."""

from __future__ import annotations

import re
from collections.abc import Callable

from policysched.lang.checking import diagnostic_collector
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import glob_patterns, kubernetes_names

_KIND = re.compile(r"[A-Za-z][A-Za-z0-9-]*\Z")
_IMAGE = re.compile(r"[A-Za-z0-9._/:@*-]+\Z")


def _find_kind_problem(text: str) -> str:
    return "" if _KIND.match(text) else "is not a kind such as `Job`"


def _find_api_version_problem(text: str) -> str:
    group_and_version = text.split("/", maxsplit=1)
    is_version = not any(map(kubernetes_names.find_dns_subdomain_problem, group_and_version))
    return "" if is_version else "is not an API version such as `apps/v1`"


def _find_image_problem(text: str) -> str:
    return "" if _IMAGE.match(text) else "contains a character that is not allowed in image names"


def _find_invisible_character_problem(text: str) -> str:
    return "" if text.isprintable() else "contains an invisible character"


_CONTROLLERS = {
    **{kind.lower(): kind for kind in ("DaemonSet", "Job", "ReplicaSet", "StatefulSet")},
    "replicationcontroller": "ReplicationController",
    "deployment": "ReplicaSet",
    "cronjob": "Job",
}
"""Kind in Kubernetes, in lower case -> the kind that actually controls the pods."""
_CHECKS: dict[str, Callable[[str], str]] = {
    "image": _find_image_problem,
    "nodeName": kubernetes_names.find_dns_subdomain_problem,
    "priorityClassName": kubernetes_names.find_dns_subdomain_problem,
    "serviceAccountName": kubernetes_names.find_dns_subdomain_problem,
    "storageClass": kubernetes_names.find_dns_subdomain_problem,
    "clusterName": kubernetes_names.find_dns_subdomain_problem,
    "ownerKind": _find_kind_problem,
    "owner(name)": kubernetes_names.find_dns_subdomain_problem,
    "kind": _find_kind_problem,
    "apiVersion": _find_api_version_problem,
}
"""Field -> the function that checks its values; other fields accept any printable text."""


def report_impossible_values(
    found: diagnostic_collector.DiagnosticCollector, requirement: syntax_expr.Requirement
) -> bool:
    """Report values that the field can never have; return whether any were reported."""
    name = requirement.subject.name.text
    check = _CHECKS.get(name, _find_invisible_character_problem)
    wrong = [
        (value, problem)
        for value in requirement.words
        if value.text
        and (
            problem := _find_wildcard_problem(name, value.text)
            or glob_patterns.find_pattern_problem(check, value.text)
        )
    ]
    for value, problem in wrong:
        _report_impossible_value(found, requirement, value, problem)
    return bool(wrong)


def warn_of_impossible_owner_kind(
    found: diagnostic_collector.DiagnosticCollector, requirement: syntax_expr.Requirement
) -> None:
    """Warn about a kind that never controls pods directly, or is in the wrong case."""
    for value in requirement.words if requirement.subject.name.text == "ownerKind" else ():
        meant = _CONTROLLERS.get(value.text.lower(), value.text)
        if meant == value.text:
            continue
        found.add_diagnostic(
            diagnostics.Diagnostic(
                "PS107",
                f"no pod has an owner of the kind `{value.text}`",
                value.span,
                notes=("`ownerKind` is the kind of the controller that creates the pod",),
                help=f"write `{meant}`",
                fix=diagnostics.Fix((diagnostics.TextEdit(value.span, meant),), safe=False),
                severity=diagnostics.Severity.WARNING,
            )
        )


def _find_wildcard_problem(name: str, text: str) -> str:
    if name == "zone" and glob_patterns.is_pattern(text):
        return "is a pattern, and a cluster has several zones"
    return "contains a wildcard other than `*`" if re.search(r"[?\[]", text) else ""


def _report_impossible_value(
    found: diagnostic_collector.DiagnosticCollector,
    requirement: syntax_expr.Requirement,
    value: syntax_expr.Value,
    problem: str,
) -> None:
    """Report one impossible value, with a correction if one is known."""
    name = requirement.subject.name.text
    edit = _make_correction_edit(requirement, value)
    advice = f"write `{edit.replacement}`" if edit is not None else ""
    if edit is None and name == "zone":
        advice = "name the zones, as in `zone In (a, b)`, or use a pattern of the `region`"
    found.add_error(
        "PS107",
        f"`{value.text[:80]}` {problem}, so it matches no `{name}`",
        value.span,
        help=advice,
        fix=diagnostics.Fix((edit,), safe=False) if edit is not None else None,
    )


def _make_correction_edit(
    requirement: syntax_expr.Requirement, value: syntax_expr.Value
) -> diagnostics.TextEdit | None:
    """Return the edit that corrects a value, or None if no correction is known."""
    name, operator = requirement.subject.name.text, requirement.operator
    if name != "zone" and "?" in value.text:
        return diagnostics.TextEdit(value.span, '"' + re.sub(r"\?+", "*", value.text) + '"')
    parts = [part.strip() for part in value.text.split(",")]
    check = _CHECKS.get(name, _find_invisible_character_problem)
    if len(parts) > 1 and operator in ("=", "!=") and not any(map(check, parts)):
        word = "In" if operator == "=" else "NotIn"
        return diagnostics.TextEdit(requirement.span, f"{name} {word} ({', '.join(parts)})")
    return None
