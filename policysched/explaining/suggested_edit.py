"""Describes a single edit that makes a rejected pod fit."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable
from typing import Any, Literal

from policysched import spelling
from policysched.lang import source

_SIMILARITY = 0.75
_MOST_NAMES = 2000
"""The maximum number of names to search for similar ones, which bounds the search time."""
_MOST_SIMILAR = 3

ADJUSTS_POD, DROPS_OF_POD, CHANGES_NODE, RELAXES_RULE, DROPS_RULE = range(1, 6)
"""Efforts of edits, from small to large: how much of the user's intent an edit sacrifices.

The correction of a misspelt name (0) sacrifices nothing.
"""
CORRECTS = 0


@dataclasses.dataclass(frozen=True, slots=True)
class SuggestedEdit:
    """An edit that was tried.

    Attributes:
        target: the kind of object to edit.
        kind: the kind of edit as listed in schemas/explain.schema.json.
        what: the field of the pod or node to edit, or the name of the rule.
        before, after: the values as written; None for nothing.
        text: a description of the whole edit for users.
        effort: how much the edit sacrifices; edits with a smaller effort are listed first.
        nodes: the nodes on which the pod would fit; an edit to nodes was tried on each of them
            separately.
        more: the number of other nodes with the same obstacle, on which the edit was not tried.
        place: the place of the rule to edit.
    """

    target: Literal["pod", "node", "policy"]
    kind: str
    what: str
    before: str | None
    after: str | None
    text: str
    effort: int
    nodes: tuple[str, ...] = ()
    more: int = 0
    place: source.Span | None = None

    def add_fitting_nodes(self, nodes: Iterable[str], more: int = 0) -> SuggestedEdit:
        """Return the edit with the nodes on which it makes the pod fit."""
        return dataclasses.replace(self, nodes=tuple(nodes), more=more)

    def as_json(self) -> dict[str, Any]:
        """Return the edit as JSON in the form of schemas/explain.schema.json."""
        return {
            "target": self.target,
            "kind": self.kind,
            "what": self.what,
            "from": self.before,
            "to": self.after,
            "text": self.text,
            "nodes": list(self.nodes),
            "more": self.more,
            **({} if self.place is None else {"file": self.place.file, "line": self.place.line}),
        }


def get_edit_sort_key(edit: SuggestedEdit) -> tuple[int, int, str]:
    """Return the sort key of an edit: smallest effort first, then most nodes, then the text."""
    return edit.effort, -len(edit.nodes) - edit.more, edit.text


def find_similar_words(word: str, known: Iterable[str]) -> list[str]:
    """Return up to three names of which `word` may be a misspelling, the nearest first."""
    names = sorted(set(known) - {word})[:_MOST_NAMES]
    name = word.rpartition("/")[2]
    last_parts = {each.rpartition("/")[2] for each in names}
    alike = {name, *difflib.get_close_matches(name, last_parts, _MOST_SIMILAR, _SIMILARITY)}
    same = [each for each in names if each.rpartition("/")[2] in alike]
    near = difflib.get_close_matches(word, names, _MOST_SIMILAR, _SIMILARITY)
    return list(dict.fromkeys([*spelling.find_nearest_names(word, names), *near, *same]))[
        :_MOST_SIMILAR
    ]
