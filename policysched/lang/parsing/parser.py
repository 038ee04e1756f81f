"""Parse a policy text to a syntax tree, and report all syntax errors at once.

`LexemeScan.split_into_items` splits the text into top-level items, which are parsed separately. If
the parser cannot continue, it adds one diagnostic, overwrites the damaged statement with blanks,
which keeps all offsets, and parses the item again. The result lists the damaged ranges, because the
checker must not report a name as missing if a damaged range can define it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from policysched.lang import source, text_limits
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.parsing import build, build_expr, lark_frontend, scanner, versions
from policysched.lang.parsing.syntax_errors import fault_place, foreign_comments, syntax_messages
from policysched.lang.syntax import syntax
from policysched.lang.words import syntax_words

_OPEN_KINDS = ("open_string", "open_promql")


@dataclasses.dataclass(frozen=True, slots=True)
class ParseResult:
    """The parsed items of a text, and the parts that could not be parsed.

    Attributes:
        text: the parsed text.
        file: the tree of all parsed items, without the statements that could not be parsed.
        diagnostics: ordered by position.
        damaged: the ranges that could not be parsed.
        lost_words: every word in `damaged`; an undefined name among them is not reported.
    """

    text: source.SourceText
    file: syntax.SyntaxTree
    diagnostics: tuple[diagnostics.Diagnostic, ...]
    damaged: tuple[source.Span, ...]
    lost_words: frozenset[str]

    def has_unparsed_part(self, span: source.Span) -> bool:
        """Return whether a part inside `span` could not be parsed."""
        return any(span.start <= each.start < span.end for each in self.damaged)


def parse_policy_texts(texts: Sequence[source.SourceText]) -> dict[str, ParseResult]:
    """Parse texts that are checked together; return the results keyed by the name of the text.

    A text that exceeds the limit on size or words gets a diagnostic instead of a tree. The first
    text after `MAX_TEXTS` texts gets a diagnostic, and any texts after that have no result.
    """
    left = text_limits.MAX_WORDS
    found: dict[str, ParseResult] = {}
    for number, text in enumerate(texts):
        if number == text_limits.MAX_TEXTS:
            found[text.name] = _make_unparsed_result(
                text, f"there are more than {text_limits.MAX_TEXTS} texts"
            )
            break
        found[text.name] = parse_policy_text(text, left)
        left -= scanner.count_words(text.text, left)
    return found


def parse_policy_text(
    text: source.SourceText, max_words: int = text_limits.MAX_WORDS
) -> ParseResult:
    """Parse one policy text of at most `max_words` lexemes; no content raises an exception."""
    size = len(text.text.encode("utf-8", "surrogatepass"))
    if size > text_limits.MAX_TEXT_BYTES:
        message = f"the text has {size} bytes, the limit is {text_limits.MAX_TEXT_BYTES}"
        return _make_unparsed_result(
            text, message, help="split it into several texts and `import` them"
        )
    if scanner.count_words(text.text, max_words + 1) > max_words:
        message = f"all texts together have more than {text_limits.MAX_WORDS} words and symbols"
        return _make_unparsed_result(
            text, message, help="split the policies among several schedulers"
        )
    return _PolicyTextParser(text).run()


def _make_unparsed_result(text: source.SourceText, message: str, help: str = "") -> ParseResult:  # noqa: A002 - as in diagnostics
    finding = diagnostics.Diagnostic("PS004", message, text.span(0, 0), help=help)
    empty = syntax.SyntaxTree(text.span(0, 0), ())
    return ParseResult(text, empty, (finding,), (text.span(0, len(text.text)),), frozenset())


class _PolicyTextParser:
    """Parses one text; holds the text with its blanked ranges, and the diagnostics."""

    def __init__(self, text: source.SourceText) -> None:
        self.source = text
        self.scan = scanner.LexemeScan(text)
        self.text = text.text
        self.found: list[diagnostics.Diagnostic] = []
        self.damaged: list[source.Span] = []
        self.budget = len(text.text) * text_limits.MAX_REPARSED_FACTOR + text_limits.REPARSED_BYTES

    def run(self) -> ParseResult:
        """Parse all items; return them with the comments, the diagnostics and the damage."""
        newer = versions.diagnose_newer_version(self.scan)
        if newer is not None:
            return self._make_newer_version_result(newer)
        items: list[syntax.Item] = []
        for chunk in self.scan.split_into_items():
            items += self._parse_chunk(chunk)
        comments = tuple(
            syntax.Comment(self.source.span(each.start, each.end), each.text)
            for each in self.scan.comments
        )
        whole = self.source.span(0, len(self.source.text))
        words = {
            lexeme.text
            for span in self.damaged
            for lexeme in self.scan.list_lexemes_between(span.start, span.end)
        }
        return ParseResult(
            self.source,
            syntax.SyntaxTree(whole, tuple(items), comments),
            tuple(sorted(self.found, key=diagnostics.make_diagnostic_sort_key)),
            tuple(self.damaged),
            frozenset(part for word in words for part in (word, *word.split("."))),
        )

    def _make_newer_version_result(self, newer: diagnostics.Diagnostic) -> ParseResult:
        """Return only this diagnostic, because this version cannot interpret the text."""
        whole = self.source.span(0, len(self.source.text))
        words = (lexeme.text for lexeme in self.scan.lexemes)
        lost = frozenset(part for word in words for part in (word, *word.split(".")))
        empty = syntax.SyntaxTree(whole, ())
        return ParseResult(self.source, empty, (newer,), (whole,), lost)

    def _has_reached_limit(self) -> bool:
        """Return whether the limit on diagnostics or the parsing budget is exhausted."""
        return len(self.found) >= text_limits.MAX_DIAGNOSTICS or self.budget < 0

    def _parse_chunk(self, chunk: scanner.ItemRange) -> list[syntax.Item]:
        """Parse a chunk; if this fails, split the chunk and parse its parts with blanking."""
        if self._has_reached_limit():
            self.damaged.append(self.source.span(chunk.start, chunk.end))
            return []
        try:
            if not self._has_unclosed_literals(chunk):
                return list(self._build_items(chunk, self.text[: chunk.end]))
        except (lark_frontend.UnexpectedInput, build_expr.NestingTooDeepError):
            pass
        items: list[syntax.Item] = []
        for piece in self.scan.split_unparsable_chunk(chunk):
            self._report_unclosed_literals(piece)
            self._report_unclosed_braces(piece)
            items += self._parse_with_blanking(piece)
        return items

    def _parse_with_blanking(self, chunk: scanner.ItemRange) -> tuple[syntax.Item, ...]:
        """Parse a chunk, and blank damaged statements until the rest can be parsed."""
        while not self._has_reached_limit():
            try:
                return self._build_items(chunk, self.text[: chunk.end] + "}" * chunk.open_braces)
            except lark_frontend.UnexpectedInput as fault:
                place = fault_place.ErrorPosition(self.scan, chunk, fault.offset, fault.accepts)
                self.found.append(syntax_messages.diagnose_syntax_error(place))
                self._blank_range(chunk, *_find_range_to_blank(place))
            except build_expr.NestingTooDeepError as error:
                self.found.append(_make_too_deep_error(error.span))
                self._blank_range(
                    chunk, *_find_statement_around(self.scan, chunk, error.span.start)
                )
        self.damaged.append(self.source.span(chunk.start, chunk.end))
        return ()

    def _build_items(self, chunk: scanner.ItemRange, text: str) -> tuple[syntax.Item, ...]:
        """Parse a chunk once and build its items; charge the parsed characters to the budget."""
        builder = build.PolicyTreeBuilder(self.source)
        try:
            tree = lark_frontend.parse_text_slice(text, chunk.start, len(text))
        except lark_frontend.UnexpectedInput as fault:
            self.budget -= fault.offset - chunk.start
            raise
        self.budget -= len(text) - chunk.start
        items: tuple[syntax.Item, ...] = lark_frontend.transform_parse_tree(tree, builder.visit)
        self.found += builder.diagnostics
        return items

    def _blank_range(self, chunk: scanner.ItemRange, start: int, end: int) -> None:
        """Overwrite a range with blanks; if it is already blank, overwrite the whole chunk."""
        if not self.text[start:end].strip():
            start, end = chunk.start, chunk.end
        blank = "".join(char if char == "\n" else " " for char in self.text[start:end])
        self.text = self.text[:start] + blank + self.text[end:]
        self.damaged.append(self.source.span(start, end))

    def _has_unclosed_literals(self, chunk: scanner.ItemRange) -> bool:
        return any(
            each.kind in _OPEN_KINDS
            for each in self.scan.list_lexemes_between(chunk.start, chunk.end)
        )

    def _report_unclosed_literals(self, chunk: scanner.ItemRange) -> None:
        """Report strings and queries without a closing quote, and blank their statements."""
        for lexeme in self.scan.list_lexemes_between(chunk.start, chunk.end):
            if lexeme.kind not in _OPEN_KINDS or self._has_reached_limit():
                continue
            comment = foreign_comments.diagnose_comment_around_literal(self.scan, lexeme)
            if comment is not None:
                self.found.append(comment)
                self._blank_range(chunk, comment.span.start, lexeme.end)
                continue
            span = self.source.span(lexeme.start, lexeme.end)
            what, sign = (
                ("this string", '"') if lexeme.kind == "open_string" else ("this query", "`")
            )
            self.found.append(
                diagnostics.Diagnostic(
                    "PS003",
                    f"{what} is not closed",
                    span,
                    help=f"add the closing `{sign}`" if sign == '"' else "add the closing backtick",
                )
            )
            self._blank_range(chunk, *_find_statement_around(self.scan, chunk, lexeme.start))

    def _report_unclosed_braces(self, chunk: scanner.ItemRange) -> None:
        """Report an item with missing `}`, with a fix that adds them at the end."""
        if not chunk.open_braces or not chunk.word or self._has_reached_limit():
            return
        members = self.scan.list_lexemes_between(chunk.start, chunk.end)
        name = members[1].text if len(members) > 1 else ""
        end = members[-1].end
        self.found.append(
            diagnostics.Diagnostic(
                "PS001",
                f"`{chunk.word} {name}` is never closed",
                self.source.span(members[0].start, members[min(1, len(members) - 1)].end),
                help="add the missing `}`",
                fix=fixes.make_replacement_fix(
                    self.source.span(end, end), "\n" + "}" * chunk.open_braces
                ),
            )
        )


def _make_too_deep_error(span: source.Span) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS004",
        f"this is nested deeper than {text_limits.MAX_DEPTH} levels",
        span,
        help="define a part of it with `let`",
    )


def _find_statement_around(
    scan: scanner.LexemeScan, chunk: scanner.ItemRange, offset: int
) -> tuple[int, int]:
    """Return the range of the statement around `offset`, or else of the whole chunk."""
    statements = scan.find_statement_starts(chunk)
    starts = [start for start in statements if start <= offset]
    if not starts:
        return chunk.start, chunk.end
    following = [start for start in statements if start > offset]
    end = chunk.body_end if chunk.body_end > offset else chunk.end
    return starts[-1], following[0] if following else end


def _find_range_to_blank(place: fault_place.ErrorPosition) -> tuple[int, int]:
    """Return the range to blank: only the statement with the error, if possible."""
    comment = foreign_comments.find_foreign_comment(place)
    if comment is not None:
        return comment
    chunk, offset = place.chunk, place.offset
    if chunk.word == "metric":
        return _find_metric_range_to_blank(place)
    if chunk.word not in ("policy", "clusterPolicy", "profile") or chunk.body_start < 0:
        is_complete = "$END" in place.accepts and offset > chunk.start
        return (offset, chunk.end) if is_complete else (chunk.start, chunk.end)
    body_end = chunk.body_end if chunk.body_end >= 0 else chunk.end
    if offset < chunk.body_start:
        return chunk.start, chunk.end
    if offset > body_end:
        return offset, chunk.end
    statements = place.scan.find_statement_starts(chunk)
    starts = (chunk.body_start, *statements)
    following = min((start for start in statements if start > offset), default=body_end)
    if offset in statements:
        if place.is_possible_statement_start:
            return offset, following
        return max(start for start in starts if start < offset), offset
    if place.is_possible_statement_start and _looks_like_statement(place):
        return offset, following
    return max((start for start in starts if start < offset), default=offset), following


def _find_metric_range_to_blank(place: fault_place.ErrorPosition) -> tuple[int, int]:
    """Return the range to blank in a metric: an option, the end of the metric, or all of it."""
    chunk, offset = place.chunk, place.offset
    options = place.scan.find_statement_starts(chunk)
    is_complete = "$END" in place.accepts
    if not options or offset < options[0]:
        return (offset, chunk.end) if is_complete else (chunk.start, chunk.end)
    following = min((start for start in options if start > offset), default=chunk.end)
    if is_complete and offset not in options:
        near = place.similar_keywords
        is_option = any(near[:1] == list(words) for words in syntax_words.METRIC_OPTIONS.values())
        return (offset, following) if is_option else (offset, chunk.end)
    if offset in options and not is_complete:
        return max((start for start in options if start < offset), default=chunk.start), offset
    return max(start for start in options if start <= offset), following


def _looks_like_statement(place: fault_place.ErrorPosition) -> bool:
    near = place.similar_keywords
    if near:
        return near[0] in scanner.STATEMENT_WORDS
    return place.lexeme_at_error is not None and place.scan.is_first_on_line(
        place.lexeme_at_error.start
    )
