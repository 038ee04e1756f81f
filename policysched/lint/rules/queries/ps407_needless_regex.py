"""PS407: a regular expression that is not needed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import query_tokens

_PLAIN = re.compile(r"[A-Za-z0-9_:/ -]*")


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for each in about.metric_queries:
        for sign, value in itertools.pairwise(each.tokens):
            if sign.text in {"=~", "!~"} and value.kind == "string":
                yield from _diagnose_needless_regex(each, sign, value)


def _diagnose_needless_regex(
    each: queries.MetricQuery, sign: query_tokens.QueryToken, value: query_tokens.QueryToken
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if a pattern is plain text or has needless anchors."""
    pattern = value.text[1:-1]
    span = each.query.locate_query_range(sign.start, sign.end, each.text)
    if each.text.slice(span) != sign.text or "$" in each.text.slice(
        each.query.locate_query_range(value.start, value.end, each.text)
    ).removesuffix(value.text[0]).removesuffix("$"):
        return  # the pattern contains a param, whose value can be any pattern
    if _PLAIN.fullmatch(pattern):
        plain = "=" if sign.text == "=~" else "!="
        yield diagnostics.Diagnostic(
            "PS407",
            f"`{value.text}` is plain text, compared as a regular expression",
            span,
            help=f"write `{plain}`",
            fix=diagnostics.Fix((diagnostics.TextEdit(span, plain),), safe=True),
        )
    elif pattern.startswith("^") or re.search(r"(?<!\\)\$\Z", pattern):
        yield _diagnose_needless_anchors(each, value, pattern)


def _diagnose_needless_anchors(
    each: queries.MetricQuery, value: query_tokens.QueryToken, pattern: str
) -> diagnostics.Diagnostic:
    """Return the finding for anchors, with a fix unless the pattern has alternatives."""
    span = each.query.locate_query_range(value.start, value.end, each.text)
    bare = re.sub(r"(?<!\\)\$\Z", "", pattern.removeprefix("^"))
    is_simple = "|" not in pattern
    edit = diagnostics.TextEdit(span, f"{value.text[0]}{bare}{value.text[-1]}")
    return diagnostics.Diagnostic(
        "PS407",
        f"the anchors in `{value.text}` have no effect: matchers always compare whole values",
        span,
        help=f"write `{edit.replacement}`" if is_simple else "remove the anchors",
        fix=diagnostics.Fix((edit,), safe=True) if is_simple else None,
    )


RULE = rule.LintRule("PS407", diagnostics.Severity.WARNING, _find_violations)
