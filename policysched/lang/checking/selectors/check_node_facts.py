"""Check requirements on conditions and versions of nodes."""

from __future__ import annotations

import re
from typing import Any, cast

from policysched import release_version
from policysched.lang.checked import checked_selector
from policysched.lang.checking import diagnostic_collector
from policysched.lang.checking.selectors import requirement_operators
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import kubernetes_names, vocabulary

_KNOWN = {name.lower(): name for name in vocabulary.NODE_CONDITIONS}
_STATES_OF_KUBECTL = {
    "notready": "condition(Ready) != True",
    "schedulingdisabled": "tainted(node.kubernetes.io/unschedulable)",
}
"""Words in the column STATUS of `kubectl get nodes`, in lower case -> what policies write."""
_BEGINNING = re.compile(r"v?[0-9]+\.[0-9]+(?:\.[0-9]+)?")
_SUFFIXES = (
    "suffixes of builds such as `-gke.100` do not count; nodes with a pre-release such as `-rc.1` "
    "are below the release"
)


def check_condition_requirement(
    found: diagnostic_collector.DiagnosticCollector,
    requirement: syntax_expr.Requirement,
    condition: syntax_expr.Value,
) -> checked_selector.ConditionRequirement | None:
    """Check a requirement on `condition(TYPE)`; return None if an error was reported."""
    operator = requirement_operators.name_set_operator(requirement.operator)
    problem = kubernetes_names.find_label_key_problem(condition.text)
    if problem:
        found.report_invalid_name("condition", condition, problem)
        return None
    if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        requirement_operators.report_wrong_operator(
            found, requirement, "In, NotIn, =, !=, Exists and DoesNotExist"
        )
        return None
    wrong = [each for each in requirement.words if each.text not in vocabulary.CONDITION_STATUSES]
    for each in wrong:
        found.report_word_not_allowed(
            "a status of a condition", each, vocabulary.CONDITION_STATUSES
        )
    if wrong:
        return None
    _warn_of_other_spelling(found, requirement, condition)
    return checked_selector.ConditionRequirement(
        condition.text,
        cast("Any", operator),
        tuple(sorted({each.text for each in requirement.words})),
        requirement.span,
    )


def _warn_of_other_spelling(
    found: diagnostic_collector.DiagnosticCollector,
    requirement: syntax_expr.Requirement,
    condition: syntax_expr.Value,
) -> None:
    """Warn about a known condition in another case, and about states that are no conditions."""
    known = _KNOWN.get(condition.text.lower(), condition.text)
    span, meant = condition.span, known
    if known == condition.text:
        span = requirement.span
        meant = _STATES_OF_KUBECTL.get(condition.text.lower(), "")
    if meant:
        found.add_diagnostic(
            diagnostics.Diagnostic(
                "PS107",
                f"no node has a condition `{condition.text}`",
                condition.span,
                help=f"write `{meant}`",
                fix=diagnostics.Fix((diagnostics.TextEdit(span, meant),), safe=False),
                severity=diagnostics.Severity.WARNING,
            )
        )


def check_version_requirement(
    found: diagnostic_collector.DiagnosticCollector,
    requirement: syntax_expr.Requirement,
    component: syntax_expr.Value,
) -> checked_selector.VersionRequirement | None:
    """Check a requirement on `nodeInfo(kubeletVersion)`; return None if an error was reported."""
    if component.text not in vocabulary.NODE_INFO:
        found.report_word_not_allowed("an argument of `nodeInfo`", component, vocabulary.NODE_INFO)
        return None
    comparator = requirement_operators.COMPARATORS.get(requirement.operator)
    if comparator is None:
        requirement_operators.report_wrong_operator(found, requirement, "=, !=, <, <=, > and >=")
        return None
    word = requirement.words[0]
    bound = release_version.parse_version_bound(word.text)
    if bound is None:
        _report_version(found, word)
        return None
    return checked_selector.VersionRequirement(comparator, bound, requirement.span)


def _report_version(
    found: diagnostic_collector.DiagnosticCollector, word: syntax_expr.Value
) -> None:
    """Report a text that is not a version, or has a suffix."""
    match = _BEGINNING.match(word.text)
    beginning = "" if match is None or match[0] == word.text else match[0]
    fix = None
    if beginning:
        edit = diagnostics.TextEdit(word.span, beginning)
        fix = diagnostics.Fix((edit,), safe=False)
    has_suffix = word.text[len(beginning) :].startswith(("-", "+"))
    found.add_error(
        "PS102",
        f"`{word.text[:80]}` is not a version such as `1.30` or `1.30.2`",
        word.span,
        notes=(_SUFFIXES,) if fix and has_suffix else (),
        help=f"write `{beginning}`" if fix else "write two or three numbers, as in `>= 1.30`",
        fix=fix,
    )
