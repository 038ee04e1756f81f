"""Comments that silence findings, such as `# policysched: ignore[PS208] spot nodes lack the label`.

A comment at the end of a line applies to the statement on that line. A comment on its own line
applies to the statement that follows. For a block (`policy x {`), it applies only to the header up
to the name.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Sequence

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax

_COMMENT = re.compile(r"#\s*policysched:\s*ignore\[(?P<codes>[^\]]*)\]\s*(?P<reason>.*)")


@dataclasses.dataclass(frozen=True, slots=True)
class IgnoreComment:
    """A comment and the statement to which it applies.

    Attributes:
        codes: the codes as written.
        span: the span of the comment.
        start: the offset of the start of the statement. The comment silences findings that begin in
            the statement.
        end: the offset of the end of the statement.
    """

    codes: tuple[str, ...]
    reason: str
    span: source.Span
    start: int
    end: int

    def silences_finding(self, finding: diagnostics.Diagnostic) -> bool:
        """Return whether the comment silences a finding."""
        place = finding.span
        is_here = place.file == self.span.file and self.start <= place.start <= self.end
        return is_here and finding.code in self.codes


def parse_ignores(result: parser.ParseResult) -> Iterator[IgnoreComment]:
    """Yield the comments of a text that silence findings."""
    statements = sorted(_list_statement_spans(result.file))
    for comment in result.file.comments:
        match = _COMMENT.match(comment.text)
        if match is None:
            continue
        codes = tuple(code.strip() for code in match["codes"].split(",") if code.strip())
        start, end = _find_statement_of_comment(result.text, comment.span, statements)
        yield IgnoreComment(codes, match["reason"].strip(), comment.span, start, end)


def _list_statement_spans(file: syntax.SyntaxTree) -> Iterator[tuple[int, int]]:
    for item in file.items:
        if isinstance(item, syntax.Policy | syntax.Profile):
            yield item.span.start, item.name.span.end
            for statement in item.statements:
                yield statement.span.start, statement.span.end
        else:
            yield item.span.start, item.span.end


def _find_statement_of_comment(
    text: source.SourceText, comment: source.Span, statements: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Return the start and end offset of the statement to which a comment applies."""
    line_start = comment.start - (comment.column - 1)
    is_alone = not text.text[line_start : comment.start].strip()
    if is_alone:
        following = (each for each in statements if each[1] >= comment.end)
        return next(following, (comment.end, comment.end))
    on_line = (each for each in statements if each[0] < comment.start and each[1] >= line_start)
    return next(on_line, (line_start, comment.start))


def find_useless_ignores(
    ignores: Sequence[IgnoreComment],
    found: Sequence[diagnostics.Diagnostic],
    judged: Collection[str],
    texts: dict[str, source.SourceText],
) -> Iterator[diagnostics.Diagnostic]:
    """Yield PS803 for comments without a reason, and for codes that silence no finding.

    Args:
        ignores: the comments of all texts.
        found: the findings before any is silenced.
        judged: the codes of the rules that have run; other codes are never reported as unused.
        texts: the texts, keyed by name.
    """
    for each in ignores:
        silenced = {finding.code for finding in found if each.silences_finding(finding)}
        unused = [code for code in each.codes if code in judged and code not in silenced]
        unknown = [
            code
            for code in each.codes
            if code not in diagnostics.LINT_CODES and code not in diagnostics.CODES
        ]
        if unused or unknown or not each.codes:
            elsewhere = {other.code for other in found if other.span.file == each.span.file}
            is_stale = bool(unused) and not unknown and elsewhere.isdisjoint(unused)
            yield _diagnose_useless_codes(
                each, [*unused, *unknown], texts[each.span.file], is_stale=is_stale
            )
        elif not each.reason:
            yield diagnostics.Diagnostic(
                "PS803",
                "this comment gives no reason",
                each.span,
                help="add the reason after the bracket",
            )


def _diagnose_useless_codes(
    each: IgnoreComment, codes: Sequence[str], text: source.SourceText, *, is_stale: bool
) -> diagnostics.Diagnostic:
    """Return the diagnostic for codes that silence no finding.

    Removing a code is a safe fix only if the code is stale. A misspelt code, or a code whose
    finding is on another line of the text, was probably written for a finding.
    """
    named = ", ".join(f"`{code}`" for code in codes) or "nothing"
    left = [code for code in each.codes if code not in codes]
    written = text.slice(each.span)
    replacement = ""
    if left:
        inside = re.compile(r"\[[^\]]*\]")
        replacement = inside.sub(f"[{', '.join(left)}]", written, count=1)
    edit = diagnostics.TextEdit(each.span, replacement)
    return diagnostics.Diagnostic(
        "PS803",
        f"this comment ignores {named}, which is not reported here",
        each.span,
        help="remove it",
        fix=diagnostics.Fix((edit,), safe=is_stale),
    )
