"""Scan a policy text tolerantly for lexemes, comments, items and statements.

The parser uses the scan to split a text into top-level items, which it parses one by one, and to
find the statement around a syntax error, so that the rest is still checked. The scan does not use
the grammar, only the first words of items and statements.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

from policysched import spelling
from policysched.lang import source
from policysched.lang.words import syntax_words

_LEXEME = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<open_string>"[^\n]*)
      | (?P<promql>`[^`]*`)
      | (?P<open_promql>`)
      | (?P<word>[A-Za-z0-9_][A-Za-z0-9_./-]*%?)
      | (?P<sign>&&|\|\||==|!=|<=|>=|\$\{?|[^ \t\r\n])""",
    re.VERBOSE,
)
_BLOCK_WORDS = frozenset({"policy", "clusterPolicy", "profile"})
_ITEM_PATTERNS = {"metric": ("word", ":"), "param": ("word", ":"), "let": ("word", "=")}
_ITEM_IN_PROMQL = re.compile(
    r"\n[ \t]*(?:(?:metric|param)\s+\w+\s*:|let\s+\w+\s*="
    r"|(?:policy|clusterPolicy|profile)\s+\S+\s*\{)"
)
"""The start of another item; a query that contains it probably lacks its closing backtick."""


def _collect_keywords(tables: Iterable[Mapping[str, tuple[str, ...]]]) -> frozenset[str]:
    return frozenset(word for table in tables for words in table.values() for word in words)


ITEM_WORDS = _collect_keywords([syntax_words.ITEMS])
STATEMENT_WORDS = _collect_keywords(
    [
        syntax_words.POLICY_STATEMENTS,
        syntax_words.CLUSTER_STATEMENTS,
        syntax_words.PROFILE_STATEMENTS,
    ]
)
METRIC_OPTION_WORDS = _collect_keywords([syntax_words.METRIC_OPTIONS])
_CLAUSE_WORDS = _collect_keywords(
    [syntax_words.CLAUSES, syntax_words.CONNECTIVES, syntax_words.LABEL_OPERATORS]
)
_CONTINUERS = frozenset(
    {
        *("where", "and", "or", "not", "when", "missing", "as", "by", "required", "preferred"),
        *("In", "NotIn", "Gt", "Lt", "in", "notin", "topologyKey", "plugin", "adds", "mode"),
        *("(", ",", "=", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", ":", "["),
    }
)
"""Words and signs after which a statement's keyword is an operand: `where mode = x`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lexeme:
    """A token of the scan: a word, sign, string, query or comment.

    Attributes:
        kind: comment, string, open_string, promql, open_promql, word or sign.
        depth: number of open `{` before the token.
    """

    kind: str
    text: str
    start: int
    end: int
    depth: int


@dataclasses.dataclass(frozen=True, slots=True)
class ItemRange:
    """The range of one top-level item, up to the start of the next item.

    Attributes:
        word: the first word if it is the keyword of an item, or else "".
        depth: number of open `{` before the item; not 0 after an item that is not closed.
        body_start: offset after the opening brace; -1 without an opening brace.
        body_end: offset of the closing brace; -1 if it is missing.
        open_braces: number of braces that are still open at the end.
    """

    word: str
    start: int
    end: int
    depth: int
    body_start: int
    body_end: int
    open_braces: int


class LexemeScan:
    """The lexemes of one text, and the items and statements found from them.

    Attributes:
        lexemes: all except comments, in order.
        comments: the comments, in order.
    """

    def __init__(self, text: source.SourceText) -> None:
        self.source = text
        self.lexemes: list[Lexeme] = []
        self.comments: list[Lexeme] = []
        for lexeme in _iterate_lexemes(text.text):
            (self.comments if lexeme.kind == "comment" else self.lexemes).append(lexeme)
        self._starts = [lexeme.start for lexeme in self.lexemes]
        signs = [lexeme.text for lexeme in self.lexemes if lexeme.kind == "sign"]
        self._is_balanced = signs.count("{") + signs.count("${") == signs.count("}")
        self._statements: dict[ItemRange, list[int]] = {}

    def find_lexeme_at(self, offset: int) -> Lexeme | None:
        """Return the lexeme that covers or follows `offset`; None at the end of the text."""
        index = bisect.bisect_right(self._starts, offset) - 1
        if index >= 0 and offset < self.lexemes[index].end:
            return self.lexemes[index]
        return self.lexemes[index + 1] if index + 1 < len(self.lexemes) else None

    def find_lexeme_before(self, offset: int) -> Lexeme | None:
        """Return the last lexeme that starts before `offset`."""
        index = bisect.bisect_left(self._starts, offset) - 1
        return self.lexemes[index] if index >= 0 else None

    def list_lexemes_between(self, start: int, end: int) -> list[Lexeme]:
        """Return the lexemes that start in a range of the text."""
        first = bisect.bisect_left(self._starts, start)
        return self.lexemes[first : bisect.bisect_left(self._starts, end)]

    def is_first_on_line(self, offset: int) -> bool:
        """Return whether only blanks precede `offset` on its line."""
        before = self.find_lexeme_before(offset)
        _, column = self.source.position(offset)
        return before is None or before.end <= offset - column + 1

    def split_into_items(self) -> list[ItemRange]:
        """Split the text into its top-level items; together they contain all lexemes."""
        heads = [index for index in range(len(self.lexemes)) if self._starts_item(index)]
        if self.lexemes and heads[:1] != [0]:
            heads.insert(0, 0)
        return self._split_at_item_starts(heads, len(self.lexemes))

    def split_unparsable_chunk(self, chunk: ItemRange) -> list[ItemRange]:
        """Split a chunk that does not parse at lines that look like the start of another item."""
        first = bisect.bisect_left(self._starts, chunk.start)
        last = bisect.bisect_left(self._starts, chunk.end)
        inner = [
            index
            for index in range(first + 1, last)
            if self.lexemes[index].depth == chunk.depth
            and self._looks_like_statement(index, ITEM_WORDS)
        ]
        return self._split_at_item_starts([first, *inner], last)

    def find_statement_starts(self, chunk: ItemRange) -> list[int]:
        """Return the offsets of the statements of a policy or profile, or of a metric's options."""
        if chunk not in self._statements:
            self._statements[chunk] = self._find_statements(chunk)
        return self._statements[chunk]

    def _find_statements(self, chunk: ItemRange) -> list[int]:
        """Return the offsets of the statements in a block, or of the options of a metric."""
        is_metric = chunk.word == "metric"
        if not is_metric and chunk.word not in _BLOCK_WORDS:
            return []
        words = METRIC_OPTION_WORDS if is_metric else STATEMENT_WORDS
        depth = chunk.depth if is_metric else chunk.depth + 1
        first = bisect.bisect_left(self._starts, chunk.start)
        last = bisect.bisect_left(self._starts, chunk.end)
        return [
            self.lexemes[index].start
            for index in range(first + 1, last)
            if self.lexemes[index].depth == depth
            and (
                self._is_keyword_not_operand(index, words)
                or self._looks_like_statement(index, words)
                or (not is_metric and self._is_unknown_statement(index))
            )
        ]

    def _split_at_item_starts(self, heads: list[int], last: int) -> list[ItemRange]:
        ends = [*heads[1:], last] if heads else []
        return [self._make_item_range(head, end) for head, end in zip(heads, ends, strict=True)]

    def _starts_item(self, index: int) -> bool:
        """Return whether a top-level item starts at the lexeme `index`."""
        one, two, three = (self._get_lexeme(index + step) for step in range(3))
        previous = self._get_lexeme(index - 1)
        if one.kind != "word" or previous.text in ("plugin", "as", "disable"):
            return False
        if one.text in _BLOCK_WORDS:
            return two.kind in ("word", "string") and three.text == "{"
        if one.depth and self._is_balanced:
            return False  # in a block; in unbalanced text, an earlier block can be unclosed
        if one.text in _ITEM_PATTERNS:
            return (two.kind, three.text) == _ITEM_PATTERNS[one.text]
        if one.text == "import":
            return two.kind == "string"
        return one.text == "version" and two.text.isdecimal()

    def _get_lexeme(self, index: int) -> Lexeme:
        if 0 <= index < len(self.lexemes):
            return self.lexemes[index]
        return Lexeme("end", "", 0, 0, 0)

    def _make_item_range(self, first: int, last: int) -> ItemRange:
        """Return the item that consists of the lexemes from `first` up to `last`."""
        members = self.lexemes[first:last]
        head = members[0]
        base = head.depth
        opening = next((each.start for each in members if each.text == "{"), -1)
        closing = next(
            (each.start for each in members if each.text == "}" and each.depth == base + 1), -1
        )
        signs = [each.text for each in members if each.kind == "sign"]
        return ItemRange(
            word=head.text if head.text in ITEM_WORDS else "",
            start=head.start,
            end=self.lexemes[last].start if last < len(self.lexemes) else len(self.source.text),
            depth=base,
            body_start=opening + 1 if opening >= 0 else -1,
            body_end=closing,
            open_braces=max(signs.count("{") + signs.count("${") - signs.count("}"), 0),
        )

    def _is_keyword_not_operand(self, index: int, words: frozenset[str]) -> bool:
        """Return whether the lexeme is in `words` and is not an operand of the previous word."""
        word = self.lexemes[index].text
        if word not in words:
            return False
        if word == "reject" and self._get_lexeme(index + 1).text == "when":
            return True
        return self._get_lexeme(index - 1).text not in _CONTINUERS

    def _is_unknown_statement(self, index: int) -> bool:
        """Return whether a line starts at `index` with a word that cannot continue a statement."""
        lexeme = self.lexemes[index]
        return (
            lexeme.kind == "word"
            and self.is_first_on_line(lexeme.start)
            and self._get_lexeme(index - 1).text not in _CONTINUERS
            and not _is_near_any_word(lexeme.text, _CLAUSE_WORDS)
        )

    def _looks_like_statement(self, index: int, words: frozenset[str]) -> bool:
        """Return whether a line starts at `index` with a possibly misspelt word in `words`."""
        lexeme = self.lexemes[index]
        if lexeme.kind != "word" or not self.is_first_on_line(lexeme.start):
            return False
        if lexeme.text in words:
            return True
        return lexeme.text not in _CLAUSE_WORDS and _is_near_any_word(lexeme.text, words)


@functools.lru_cache(maxsize=4096)
def _is_near_any_word(word: str, words: frozenset[str]) -> bool:
    return bool(spelling.find_nearest_names(word, words))


def count_words(text: str, limit: int) -> int:
    """Count lexemes and comments up to `limit`, without storing them."""
    return sum(1 for _ in itertools.islice(_LEXEME.finditer(text), limit))


def _iterate_lexemes(text: str) -> Iterator[Lexeme]:
    """Yield the lexemes and comments of a text, with the depth of braces."""
    depth = 0
    position = 0
    while match := _LEXEME.search(text, position):
        kind, value = str(match.lastgroup), match.group()
        position = match.end()
        if kind == "promql" and _ITEM_IN_PROMQL.search(value):
            kind, value, position = "open_promql", "`", match.start() + 1
        yield Lexeme(kind, value, match.start(), match.start() + len(value), depth)
        if kind == "sign":
            depth = max(depth + (value in ("{", "${")) - (value == "}"), 0)
