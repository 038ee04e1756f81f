"""Comments that silence findings: `# policysched: ignore[PS208] spot nodes have no such label`.

One at the end of a line speaks of the statement on that line, one on a line of its own of the
statement that follows. Of a block (`policy x {`) it speaks of the name only.
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
    """A comment and what it speaks of.

    Attributes:
        codes: as they are written.
        span: of the comment.
        start: offset of the first character of the statement; findings that begin there or further
            on are silenced...
        end: ...up to here.
    """

    codes: tuple[str, ...]
    reason: str
    span: source.Span
    start: int
    end: int

    def silences_finding(self, finding: diagnostics.Diagnostic) -> bool:
        """Return whether a finding is what the comment speaks of."""
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
    """Return from where to where the statement reaches that a comment speaks of."""
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
    """Yield PS803 of comments without a reason, and of codes that silence nothing.

    Args:
        ignores: of all texts.
        found: before anything is silenced.
        judged: codes of the rules that have run; of others nothing is known.
        texts: the texts by name.
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
                "this comment does not say why",
                each.span,
                help="add the reason behind the bracket",
            )


def _diagnose_useless_codes(
    each: IgnoreComment, codes: Sequence[str], text: source.SourceText, *, is_stale: bool
) -> diagnostics.Diagnostic:
    """Return the diagnostics for codes that silence nothing.

    Taking them out is safe only if they are stale: a misspelt code, or one whose finding is on
    another line of the text, was meant for something.
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
        f"this comment ignores {named}, which nothing here reports",
        each.span,
        help="leave it out",
        fix=diagnostics.Fix((edit,), safe=is_stale),
    )
