"""PS106: an unquoted value that looks like a number but is compared as text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lint import rule, rule_input

_SETS = frozenset({"In", "NotIn", "=", "!="})
_NUMBER = re.compile(r"[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][0-9]+)?")
"""A YAML number; signs and leading dots are omitted, as no label value begins with them."""


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each misleading number in label requirements of policies and lets."""
    for result in about.parsed:
        for item in result.file.items:
            if not isinstance(item, syntax.Policy | syntax.LetSelector | syntax.LetExpr):
                continue
            for each in _iterate_requirements(item):
                if each.operator in _SETS and each.subject.argument is None:
                    yield from (
                        _make_finding(value) for value in each.words if _is_misleading_number(value)
                    )


def _iterate_requirements(node: object) -> Iterator[syntax_expr.Requirement]:
    """Yield the requirements below a node of the syntax tree."""
    if isinstance(node, syntax_expr.Requirement):
        yield node
    elif isinstance(node, tuple):
        for each in node:
            yield from _iterate_requirements(each)
    elif isinstance(node, syntax_expr.SyntaxNode) and not isinstance(node, syntax_expr.Value):
        for field in dataclasses.fields(node):
            yield from _iterate_requirements(getattr(node, field.name))


def _is_misleading_number(value: syntax_expr.Value) -> bool:
    """Return whether an unquoted value is a number in a spelling that Kubernetes does not use."""
    if value.quoted or not _NUMBER.fullmatch(value.text):
        return False
    return _normalise_number(value.text) != value.text


def _normalise_number(text: str) -> str:
    """Return the usual spelling of a number: no leading or trailing zeros, no exponent.

    Numbers other than integers below 2**53 are spelled as Python's `repr` spells them.
    """
    number = float(text.replace("_", ""))
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def _make_finding(value: syntax_expr.Value) -> diagnostics.Diagnostic:
    """Return the finding for an unquoted number, with a fix that quotes it."""
    edit = diagnostics.TextEdit(value.span, f'"{value.text}"')
    return diagnostics.Diagnostic(
        "PS106",
        f"`{value.text}` is compared as text: "
        f"a label `{_normalise_number(value.text)}` does not match it",
        value.span,
        notes=("label values are text; only `Gt` and `Lt` compare numbers",),
        help=f'write `"{value.text}"` if this text is intended',
        fix=diagnostics.Fix((edit,), safe=False),
    )


RULE = rule.LintRule("PS106", diagnostics.Severity.WARNING, _find_violations)
