"""Completion proposals as data."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "keyword", "operator", "label", "value", "name", "function", "field", "series", "code", "text"
]
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


@dataclasses.dataclass(frozen=True, slots=True)
class CompletionProposal:
    """A text that can replace the word at the cursor.

    Attributes:
        text: the inserted text.
        detail: a short description, shown next to the text.
        doc: the documentation, in Markdown.
        rank: the sort order, lowest first; equal ranks are sorted by text.
    """

    text: str
    kind: Kind
    detail: str = ""
    doc: str = ""
    rank: int = 5


@dataclasses.dataclass(frozen=True, slots=True)
class CompletionProposals:
    """All proposals, and the range of text that each proposal would replace."""

    start: int
    end: int
    items: tuple[CompletionProposal, ...]


def propose_quoted_words(
    found: Iterable[str], kind: Kind, detail: str, rank: int = 1
) -> Iterator[CompletionProposal]:
    """Yield the words as written in a policy."""
    for word in found:
        yield CompletionProposal(quote_word(word), kind, detail, rank=rank)


def quote_expression_name(name: str) -> str:
    """Return a name as written in an expression, where only an identifier needs no quotes."""
    return name if name.isascii() and name.isidentifier() else f'"{name}"'


def quote_word(word: str) -> str:
    """Return a word as written in a policy, in quotes if necessary."""
    is_word = _WORD.fullmatch(word) is not None
    return word if is_word else '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
