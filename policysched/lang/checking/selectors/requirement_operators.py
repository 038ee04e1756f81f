"""The operators of requirements in selectors: other spellings, and the report of a wrong one."""

from __future__ import annotations

from policysched.lang.checked import checked_selector
from policysched.lang.checking import diagnostic_collector
from policysched.lang.syntax import syntax_expr

COMPARATORS: dict[str, checked_selector.Comparator] = {
    "=": "=",
    "!=": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "Gt": ">",
    "Lt": "<",
}
"""Operator of a comparison with a number or version -> its sign."""
_SET_OPERATORS = {"=": "In", "!=": "NotIn"}


def name_set_operator(operator: str) -> str:
    """Return `In` for `=` and `NotIn` for `!=`; return other operators as they are."""
    return _SET_OPERATORS.get(operator, operator)


def report_wrong_operator(
    found: diagnostic_collector.DiagnosticCollector,
    requirement: syntax_expr.Requirement,
    operators: str,
    code: str = "PS108",
) -> None:
    """Report an operator that the subject does not support; `operators` lists those it does."""
    subject = found.get_text_on_one_line(requirement.subject.span)
    operator = found.get_text_on_one_line(requirement.operator_span)
    found.add_error(
        code,
        f"`{subject}` does not support the operator `{operator}`",
        requirement.operator_span,
        help=f"supported operators are {operators}",
    )
