"""Find names by a part of them, for the search field of the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_MOST_MATCHES = 20


def find_all_matches(
    text: str, *, pods: Iterable[str], nodes: Iterable[str], rules: Iterable[str]
) -> dict[str, Any]:
    """Return the answer of the search: the best 20 names of each kind, and how many there are."""
    folded = text.casefold()
    kinds = {"pods": pods, "nodes": nodes, "rules": set(rules)}
    found = {kind: _find_matches(names, folded) for kind, names in kinds.items()}
    return {
        **{kind: names[:_MOST_MATCHES] for kind, names in found.items()},
        "counts": {kind: len(names) for kind, names in found.items()},
    }


def _find_matches(names: Iterable[str], text: str) -> list[str]:
    """Return the names that contain the case-folded `text`, the best matches first."""
    found = [name for name in names if text in name.casefold()]
    found.sort(key=lambda name: (not _begins_with(name, text), len(name), name))
    return found


def _begins_with(name: str, text: str) -> bool:
    return any(
        part.startswith(text) for part in (name.casefold(), name.casefold().rpartition("/")[2])
    )
