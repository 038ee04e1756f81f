"""The context of a cursor in a policy text: its statement, previous words, and accepted words."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Literal, TypeAlias

from policysched.lang.parsing import lark_frontend, scanner
from policysched.lang.words import syntax_words

Domain: TypeAlias = Literal["node", "pod", "namespace", "cluster", "any"]
_WORD = re.compile(r"[A-Za-z0-9_./-]*")
_NAME = re.compile(r"[A-Za-z0-9_]*")
_MAX_WORD = 300
"""The maximum number of characters in a word at the cursor; no label key is longer."""
_BLOCKS = ("policy", "clusterPolicy", "profile")
_CLAUSE_WORDS = frozenset(word for words in syntax_words.CLAUSES.values() for word in words)
_CONNECTIVES = ("and", "or", "not", "where")
_TESTS: dict[str, Domain] = {"node": "node", "pod": "pod", "cluster": "cluster"}
_SELECTOR_HEADS: dict[str, Domain] = {
    "nodeAffinity": "node",
    "clusterAffinity": "cluster",
    "clusterGroup": "cluster",
    "pods": "pod",
    "resources": "pod",
    "namespace": "namespace",
    "namespaceSelector": "namespace",
}


@dataclasses.dataclass(frozen=True)
class CursorContext:
    """A cursor, and the parts of its surroundings on which completion depends.

    Attributes:
        start: the offset of the word at the cursor.
        end: the offset after this word, which can continue after the cursor.
        item: the keyword of the item around the cursor, or "" outside all items.
        before: the lexemes of the statement, or of an item without statements, before the word.
        is_first_on_line: whether only whitespace precedes the word on its line.
        inside: `comment`, `string`, `query`, or "" elsewhere.
        accepts: the terminals that the grammar accepts here; empty after a syntax error.
        statements: the keywords of the other statements of the item.
        is_at_start: whether only comments precede the cursor in the text.
    """

    start: int
    end: int
    item: str
    before: tuple[scanner.Lexeme, ...]
    is_first_on_line: bool
    inside: str
    accepts: frozenset[str]
    statements: frozenset[str] = frozenset()
    is_at_start: bool = False

    def get_preceding_word(self, back: int = 1) -> str:
        """Return the text of the lexeme `back` lexemes before the word, or "" if there is none."""
        return self.before[-back].text if len(self.before) >= back else ""

    @property
    def statement(self) -> str:
        """The name of the statement in `ALLOWED_CLAUSES`, or its keyword if it has no clauses."""
        if not self.before:
            return ""
        head = self.before[0].text
        second = self.before[1].text if len(self.before) > 1 else ""
        if f"{head} {second}" in syntax_words.ALLOWED_CLAUSES:
            return f"{head} {second}"
        return head

    @functools.cached_property
    def enclosing(self) -> tuple[str, str]:
        """The word before the innermost open parenthesis, and the word before that one."""
        depth = 0
        for index in range(len(self.before) - 1, -1, -1):
            text = self.before[index].text
            depth += (text == ")") - (text == "(")
            if depth < 0:
                words = [each.text for each in self.before[:index]]
                return (words[-1] if words else ""), (words[-2] if len(words) > 1 else "")
        return "", ""

    @functools.cached_property
    def domain(self) -> Domain | None:
        """The kind of objects that the enclosing selector selects; None outside selectors."""
        if self.item == "let" and any(each.text == "{" for each in self.before):
            return "any"
        return self._find_selector_domain()

    def _find_selector_domain(self) -> Domain | None:
        """Return the domain at the cursor, from the selector heads and parentheses before it."""
        domain: Domain | None = None
        around: list[Domain | None] = []
        openings = [""]
        previous = ""
        for lexeme in self.before:
            text = lexeme.text
            if text == "(":
                around.append(domain)
                openings.append(previous or "(")
                domain = _TESTS.get(previous, domain)
            elif text == ")" and around:
                domain = around.pop()
                openings.pop()
            elif text in _SELECTOR_HEADS:
                domain = _SELECTOR_HEADS[text]
            elif text == "where" and domain == "namespace" and previous != "namespace":
                domain = "pod"  # a `where` after `in namespace …` selects pods
            elif (
                text in _CLAUSE_WORDS
                and openings[-1] in ("", "count")
                and previous not in _CONNECTIVES
            ):
                domain = None
            previous = text
        return domain


def find_cursor_context(scan: scanner.LexemeScan, offset: int) -> CursorContext:
    """Return the context of an offset in a text."""
    inside = _find_enclosing_text_kind(scan, offset)
    text = scan.source.text
    start, end = _find_word_start(_WORD, text, offset), _find_word_end(_WORD, text, offset)
    chunk = _find_item_range(scan, start)
    if inside:
        start = _find_word_start(_NAME, text, offset)
        if inside == "query" and text[start - 1 : start] == "$":
            start -= 1  # `$` is part of the name of a param
        return CursorContext(
            start, offset, chunk.word if chunk else "", (), False, inside, frozenset()
        )
    if chunk is None or _is_after_block(chunk, start):
        accepts = lark_frontend.list_accepted_terminals(text, start, start)
        is_at_start = scan.find_lexeme_before(start) is None
        first = _is_first_on_line(text, start)
        return CursorContext(start, end, "", (), first, "", accepts, is_at_start=is_at_start)
    statement = _find_statement_start(scan, chunk, start)
    readable = _blank_earlier_statements(text, chunk, statement)
    accepts = lark_frontend.list_accepted_terminals(readable, chunk.start, start)
    if "WORD" not in accepts or "NAME" in accepts:
        start, end, accepts = _shorten_to_expression_word(
            readable, chunk.start, offset, (start, end, accepts)
        )
    return CursorContext(
        start,
        end,
        chunk.word,
        tuple(scan.list_lexemes_between(statement, start)),
        _is_first_on_line(text, start),
        "",
        accepts,
        _list_other_statement_keywords(scan, chunk, start),
    )


def _list_other_statement_keywords(
    scan: scanner.LexemeScan, chunk: scanner.ItemRange, offset: int
) -> frozenset[str]:
    """Return the keywords of all statements of an item except the one at an offset."""
    found = (
        scan.find_lexeme_at(start) for start in scan.find_statement_starts(chunk) if start != offset
    )
    return frozenset(each.text for each in found if each is not None)


def _is_first_on_line(text: str, offset: int) -> bool:
    """Return whether only whitespace precedes an offset on its line."""
    return not text[text.rfind("\n", 0, offset) + 1 : offset].strip()


def _find_word_start(pattern: re.Pattern[str], text: str, offset: int) -> int:
    """Return the start of the word that ends at an offset."""
    reach = text[max(offset - _MAX_WORD, 0) : offset][::-1]
    found = pattern.match(reach)
    return offset - (found.end() if found else 0)


def _find_word_end(pattern: re.Pattern[str], text: str, offset: int) -> int:
    """Return the end of the word that continues at an offset."""
    found = pattern.match(text, offset, offset + _MAX_WORD)
    return found.end() if found else offset


def _shorten_to_expression_word(
    text: str, begin: int, offset: int, found: tuple[int, int, frozenset[str]]
) -> tuple[int, int, frozenset[str]]:
    """Shorten the word as in an expression, in which `-`, `.` and `/` are operators."""
    start = _find_word_start(_NAME, text, offset)
    if start == found[0]:
        return found
    accepts = lark_frontend.list_accepted_terminals(text, begin, start)
    if "NAME" not in accepts:
        return found
    return start, _find_word_end(_NAME, text, offset), accepts


def _find_enclosing_text_kind(scan: scanner.LexemeScan, offset: int) -> str:
    """Return `comment`, `string` or `query` if the offset is inside one, or ""."""
    for comment in scan.comments:
        if comment.start < offset <= comment.end:
            return "comment"
    lexeme = scan.find_lexeme_before(offset)
    if lexeme is None or lexeme.start >= offset:
        return ""
    if lexeme.kind == "open_promql":
        return "query"
    if lexeme.kind == "promql" and offset < lexeme.end:
        return "query"
    is_in_string = lexeme.kind == "string" and offset < lexeme.end
    is_open = lexeme.kind == "open_string" and offset <= lexeme.end
    return "string" if is_in_string or is_open else ""


def _find_item_range(scan: scanner.LexemeScan, offset: int) -> scanner.ItemRange | None:
    found = [chunk for chunk in scan.split_into_items() if chunk.start < offset]
    return found[-1] if found else None


def _is_after_block(chunk: scanner.ItemRange, offset: int) -> bool:
    """Return whether the block of an item ends before an offset."""
    return chunk.word in _BLOCKS and 0 <= chunk.body_end < offset


def _find_statement_start(scan: scanner.LexemeScan, chunk: scanner.ItemRange, offset: int) -> int:
    starts = [start for start in scan.find_statement_starts(chunk) if start < offset]
    if chunk.word in _BLOCKS:
        return starts[-1] if starts else max(chunk.body_start, chunk.start)
    return chunk.start


def _blank_earlier_statements(text: str, chunk: scanner.ItemRange, statement: int) -> str:
    """Return the text with earlier statements of the item replaced by spaces.

    A statement parses independently of earlier statements, which can have syntax errors.
    """
    if chunk.word not in _BLOCKS or not 0 <= chunk.body_start <= statement:
        return text
    return text[: chunk.body_start] + " " * (statement - chunk.body_start) + text[statement:]
