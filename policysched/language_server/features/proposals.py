"""What an editor may propose, as data."""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "keyword", "operator", "label", "value", "name", "function", "field", "series", "code", "text"
]


@dataclasses.dataclass(frozen=True, slots=True)
class CompletionProposal:
    """A word to put in the place of what is being written.

    Attributes:
        text: what is written.
        detail: a few words beside it.
        doc: what it means, in Markdown.
        rank: smaller ones come first; equal ones by their text.
    """

    text: str
    kind: Kind
    detail: str = ""
    doc: str = ""
    rank: int = 5


@dataclasses.dataclass(frozen=True, slots=True)
class CompletionProposals:
    """All of them, and the stretch of the text that each would replace."""

    start: int
    end: int
    items: tuple[CompletionProposal, ...]
