"""A forgiving look at a policy text: lexemes, comments, items, statements.

The parser uses it to cut a text into top-level items, which it parses one by one, and to find the
statement that a syntax error spoils, so that the rest is still checked. It knows nothing of grammar
beyond which two words begin an item and which word begins a statement.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Iterator

from policysched.lang import source

_LEXEME = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<open_string>"[^\n]*)
      | (?P<promql>`[^`]*`)
      | (?P<open_promql>`)
      | (?P<word>[A-Za-z0-9_][A-Za-z0-9_./-]*%?)
      | (?P<sign>&&|\|\||==|!=|<=|>=|\$\{?|[^\s])""",
    re.VERBOSE,
)
_ITEM_BLOCK_WORDS = frozenset({"policy", "clusterPolicy", "profile"})
_ITEM_PATTERNS = {"metric": ("word", ":"), "param": ("word", ":"), "let": ("word", "=")}
_ITEM_IN_PROMQL = re.compile(
    r"\n[ \t]*(?:metric\s+\w+\s*:|param\s+\w+\s*:|let\s+\w+\s*=|(?:policy|clusterPolicy|profile)\s+\S+\s*\{)"
)
"""A query that seems to hold the start of another item has lost its closing backtick."""

STATEMENT_WORDS = frozenset(
    {
        *("description", "owner", "mode", "for", "nodeAffinity", "podAffinity", "podAntiAffinity"),
        *("topologySpread", "tolerate", "reject", "score", "disable"),
        *("clusterAffinity", "clusterGroup", "spreadConstraint", "replicas"),
        *("policies", "plugin", "builtin", "onOutage", "param"),
    }
)
METRIC_OPTION_WORDS = frozenset(
    {
        *("node", "cluster", "refresh", "maxAge", "between", "placed", "fallback", "over"),
        *("missing", "source"),
    }
)
_CONTINUERS = frozenset(
    {
        *("where", "and", "or", "not", "when", "missing", "as", "by", "required", "preferred"),
        *("In", "NotIn", "Gt", "Lt", "in", "notin", "topologyKey", "plugin", "adds", "mode"),
        *("(", ",", "=", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", ":", "["),
    }
)
"""Words and signs behind which a statement word is an operand: `where mode = x`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lexeme:
    """A stretch of text that belongs together.

    Attributes:
        kind: comment, string, open_string, promql, open_promql, word or sign.
        depth: number of `{` open before it.
    """

    kind: str
    text: str
    start: int
    end: int
    depth: int


@dataclasses.dataclass(frozen=True, slots=True)
class Chunk:
    """The text of one top-level item, up to the start of the next.

    Attributes:
        word: the keyword that starts it; "" for text before the first item.
        statements: offsets at which statements (options, for a metric) start.
        body_start: offset behind the opening brace; -1 without one.
        body_end: offset of the closing brace; -1 if it is missing.
        open_braces: how many braces are still open at the end.
    """

    word: str
    start: int
    end: int
    statements: tuple[int, ...]
    body_start: int
    body_end: int
    open_braces: int


class Scan:
    """The lexemes of one text and what can be told from them.

    Attributes:
        lexemes: all but comments, in order.
        comments: the comments, in order.
    """

    def __init__(self, text: source.SourceText) -> None:
        self.source = text
        self.lexemes: list[Lexeme] = []
        self.comments: list[Lexeme] = []
        for lexeme in _lexemes(text.text):
            (self.comments if lexeme.kind == "comment" else self.lexemes).append(lexeme)
        self._starts = [lexeme.start for lexeme in self.lexemes]

    def at(self, offset: int) -> Lexeme | None:
        """Return the lexeme that covers or follows `offset`, None at the end of the text."""
        index = bisect.bisect_right(self._starts, offset) - 1
        if index >= 0 and offset < self.lexemes[index].end:
            return self.lexemes[index]
        return self.lexemes[index + 1] if index + 1 < len(self.lexemes) else None

    def before(self, offset: int) -> Lexeme | None:
        """Return the last lexeme that starts before `offset`."""
        index = bisect.bisect_left(self._starts, offset) - 1
        return self.lexemes[index] if index >= 0 else None

    def is_first_on_line(self, offset: int) -> bool:
        """Say whether only blanks stand before `offset` on its line."""
        line_start = self.source.text.rfind("\n", 0, offset) + 1
        return not self.source.text[line_start:offset].strip()

    def chunks(self) -> list[Chunk]:
        """Cut the text into its top-level items; together they cover the whole text."""
        heads = [index for index in range(len(self.lexemes)) if self._starts_item(index)]
        if not heads or heads[0] > 0:
            heads.insert(0, 0)
        if not self.lexemes:
            return []
        ends = [*heads[1:], len(self.lexemes)]
        return [self._chunk(first, last) for first, last in zip(heads, ends, strict=True)]

    def _starts_item(self, index: int) -> bool:
        one, two, three = (self._lexeme(index + step) for step in range(3))
        previous = self._lexeme(index - 1)
        if one.kind != "word" or previous.text in ("plugin", "as", "disable"):
            return False
        if one.text in _ITEM_BLOCK_WORDS:
            return two.kind in ("word", "string") and three.text == "{"
        if one.text in _ITEM_PATTERNS:
            return (two.kind, three.text) == _ITEM_PATTERNS[one.text]
        if one.text == "import":
            return two.kind == "string"
        return one.text == "version" and two.text.isdecimal()

    def _lexeme(self, index: int) -> Lexeme:
        if 0 <= index < len(self.lexemes):
            return self.lexemes[index]
        return Lexeme("end", "", 0, 0, 0)

    def _chunk(self, first: int, last: int) -> Chunk:
        members = self.lexemes[first:last]
        head = members[0]
        end = self.lexemes[last].start if last < len(self.lexemes) else len(self.source.text)
        is_item = self._starts_item(first)
        base = head.depth
        opening = next((each.start for each in members if each.text == "{"), -1)
        closing = next(
            (each.start for each in members if each.text == "}" and each.depth == base + 1), -1
        )
        braces = sum(
            (each.text == "{") - (each.text == "}") for each in members if each.kind == "sign"
        )
        return Chunk(
            word=head.text if is_item else "",
            start=head.start,
            end=end,
            statements=tuple(self._statements(first, last, head, base)) if is_item else (),
            body_start=opening + 1 if opening >= 0 else -1,
            body_end=closing,
            open_braces=max(braces, 0),
        )

    def _statements(self, first: int, last: int, head: Lexeme, base: int) -> Iterator[int]:
        is_metric = head.text == "metric"
        words = METRIC_OPTION_WORDS if is_metric else STATEMENT_WORDS
        depth = base if is_metric else base + 1
        for index in range(first + 1, last):
            lexeme = self.lexemes[index]
            if lexeme.depth == depth and lexeme.text in words and self._is_free(index):
                yield lexeme.start

    def _is_free(self, index: int) -> bool:
        """Say whether the word at `index` is no operand of what stands before it."""
        previous = self._lexeme(index - 1)
        word, following = self.lexemes[index].text, self._lexeme(index + 1).text
        if word == "reject":
            return following == "when" or previous.text not in _CONTINUERS
        return previous.text not in _CONTINUERS


def _lexemes(text: str) -> Iterator[Lexeme]:
    depth = 0
    position = 0
    while match := _LEXEME.search(text, position):
        kind, value = str(match.lastgroup), match.group()
        position = match.end()
        if kind == "promql" and _ITEM_IN_PROMQL.search(value):
            kind, value, position = "open_promql", "`", match.start() + 1
        yield Lexeme(kind, value, match.start(), match.start() + len(value), depth)
        if kind == "sign":
            depth = max(depth + (value == "{") - (value == "}"), 0)
