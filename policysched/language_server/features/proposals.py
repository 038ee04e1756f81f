"""Completion proposals as data."""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "keyword", "operator", "label", "value", "name", "function", "field", "series", "code", "text"
]


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
