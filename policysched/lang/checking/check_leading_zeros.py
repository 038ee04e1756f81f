"""Report numbers that begin with 0, which other languages read as octal."""

from __future__ import annotations

import re

from policysched.lang.checking import diagnostic_collector, symbols
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax_expr

_MAYBE = re.compile(r"(?<![\w.])0[0-9]")
_ZEROS = re.compile(r"(-?)0+(?=[0-9])")


def check_leading_zeros(
    result: parser.ParseResult, found: diagnostic_collector.DiagnosticCollector
) -> None:
    """Warn about leading zeros in numbers; label values are text and can have leading zeros."""
    if _MAYBE.search(result.text.text) is None:
        return
    for item in result.file.items:
        for node in symbols.walk_syntax_nodes(item):
            if isinstance(node, syntax_expr.Numeral) and _ZEROS.match(node.text):
                found.add_diagnostic(_diagnose_leading_zeros(node))


def _diagnose_leading_zeros(numeral: syntax_expr.Numeral) -> diagnostics.Diagnostic:
    """Return the warning for a number with leading zeros."""
    plain = _ZEROS.sub(r"\1", numeral.text, count=1)
    return diagnostics.Diagnostic(
        "PS809",
        f"`{numeral.text}` is read as the decimal number `{plain}`",
        numeral.span,
        notes=("other languages read a number that begins with 0 as octal",),
        help=f"write `{plain}`",
        fix=fixes.make_replacement_fix(numeral.span, plain),
        severity=diagnostics.Severity.WARNING,
    )
