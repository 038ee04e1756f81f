"""PS409: `${name}` in a query; it is not a param, and other tools may replace it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax
from policysched.lint import rule, rule_input

_BRACED = re.compile(r"\$\{(\w*)\}")


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each `${name}`, with a fix if a param has this name."""
    params = {param.name for param in about.program.params}
    for result in about.parsed:
        for item in result.file.items:
            if not isinstance(item, syntax.Metric):
                continue
            first = item.query.span.start + 1
            for match in _BRACED.finditer(item.query.text):
                span = result.text.span(first + match.start(), first + match.end())
                name = match[1]
                edit = diagnostics.TextEdit(span, f"${name}")
                yield diagnostics.Diagnostic(
                    "PS409",
                    f"`{match[0]}` is not a param: params are written without braces",
                    span,
                    notes=("envsubst and Flux replace this variable, or remove it if it is unset",),
                    help=f"write `${name}`" if name in params else "remove it",
                    fix=diagnostics.Fix((edit,), safe=False) if name in params else None,
                )


RULE = rule.LintRule("PS409", diagnostics.Severity.WARNING, _find_violations)
