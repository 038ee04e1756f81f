"""Semantic tokens of a text, such as keywords, operators, labels and names."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from policysched.lang.parsing import scanner
from policysched.lang.words import syntax_words
from policysched.lang.words import vocabulary as language
from policysched.language_server.project import programs
from policysched.language_server.words import names
from policysched.promql import query_words

Kind: TypeAlias = Literal[
    "keyword",
    "operator",
    "comment",
    "string",
    "number",
    "variable",
    "parameter",
    "class",
    "function",
    "property",
    "enumMember",
    "regexp",
]
KINDS: tuple[Kind, ...] = (
    *("keyword", "operator", "comment", "string", "number", "variable", "parameter", "class"),
    *("function", "property", "enumMember", "regexp"),
)
_NAMES: dict[names.Kind, Kind] = {
    "let": "variable",
    "metric": "variable",
    "param": "parameter",
    "policy": "class",
    "profile": "class",
    "rule": "function",
    "text": "string",
}
_KEYWORDS = frozenset(word for words in syntax_words.KEYWORDS.values() for word in words)
_OPERATORS = frozenset(word for words in syntax_words.LABEL_OPERATORS.values() for word in words)
_VALUES = frozenset(
    {
        *language.MODES,
        *language.DIRECTIONS,
        *language.WHEN_UNSATISFIABLE,
        *language.NODE_INCLUSION,
        *language.OUTAGE_ACTIONS,
        *language.TAINT_EFFECTS,
        *language.METRIC_UNITS,
        *language.PARAM_TYPES,
    }
)
_FUNCTIONS = frozenset(
    {*language.FUNCTIONS, *language.STRATEGIES, *language.NORMALIZATIONS, "requests", "limits"}
)
_QUERY = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<parameter>\$[A-Za-z_]\w*)
      | (?P<word>[A-Za-z_:][A-Za-z0-9_:]*)
      | (?P<number>[0-9][0-9A-Za-z_.]*)""",
    re.VERBOSE,
)


@dataclasses.dataclass(frozen=True, slots=True)
class SemanticToken:
    """A range of a text and its token kind."""

    start: int
    end: int
    kind: Kind


def list_semantic_tokens(program: programs.PolicyProgram, text: str) -> list[SemanticToken]:
    """Return the tokens of a text in order; they do not overlap."""
    scan = program.get_lexeme_scan(text)
    named = {
        each.span.start: each for each in program.name_index.occurrences if each.span.file == text
    }
    found = [SemanticToken(each.start, each.end, "comment") for each in scan.comments]
    before = ""
    for lexeme in scan.lexemes:
        found += _classify_lexeme(lexeme, before, named)
        before = lexeme.text
    return sorted(found, key=lambda each: each.start)


def _classify_lexeme(
    lexeme: scanner.Lexeme, before: str, named: dict[int, names.NameOccurrence]
) -> Iterator[SemanticToken]:
    """Yield the tokens of a lexeme; a query and the target of `disable` have several."""
    match lexeme.kind:
        case "promql" | "open_promql":
            yield from _classify_query(lexeme)
        case "string" | "open_string":
            yield SemanticToken(lexeme.start, lexeme.end, "string")
        case "word":
            if before == "disable" and "." in lexeme.text and lexeme.start in named:
                middle = lexeme.start + lexeme.text.index(".")
                yield SemanticToken(lexeme.start, middle, "class")
                yield SemanticToken(middle + 1, lexeme.end, "function")
            else:
                yield SemanticToken(lexeme.start, lexeme.end, _classify_word(lexeme, before, named))
        case _:
            if lexeme.text not in "{}()[],:":
                yield SemanticToken(lexeme.start, lexeme.end, "operator")


def _classify_word(
    lexeme: scanner.Lexeme, before: str, named: dict[int, names.NameOccurrence]
) -> Kind:
    """Return the token kind of a word, from its symbol or else from its spelling."""
    occurrence = named.get(lexeme.start)
    if occurrence is not None:
        return _NAMES[occurrence.symbol.kind]
    word = lexeme.text
    if word in _OPERATORS:
        return "operator"
    if word in _KEYWORDS and before not in ("where", "(", ",", "topologyKey"):
        return "keyword"
    if word in _VALUES:
        return "enumMember"
    if word in _FUNCTIONS:
        return "function"
    return "number" if word[0].isdigit() else "property"


def _classify_query(lexeme: scanner.Lexeme) -> Iterator[SemanticToken]:
    """Yield the tokens of a PromQL query."""
    for match in _QUERY.finditer(lexeme.text):
        start, end = lexeme.start + match.start(), lexeme.start + match.end()
        match match.lastgroup:
            case "comment":
                yield SemanticToken(start, end, "comment")
            case "string":
                yield SemanticToken(start, end, "string")
            case "parameter":
                yield SemanticToken(start, end, "parameter")
            case "number":
                yield SemanticToken(start, end, "number")
            case _:
                yield SemanticToken(start, end, _classify_query_word(match.group()))


def _classify_query_word(word: str) -> Kind:
    if word in query_words.FUNCTIONS:
        return "function"
    return "keyword" if word in query_words.KEYWORDS else "variable"
