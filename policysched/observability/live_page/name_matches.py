"""Find names by a part of them, for the search field of the page."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_MATCHES = 20


def find_all_matches(
    text: str, *, pods: Iterable[str], nodes: Iterable[str], rules: Iterable[str]
) -> dict[str, list[str]]:
    """Return the answer of the search: at most 20 names of each kind, in any case of letters."""
    folded = text.casefold()
    return {
        "pods": _find_matches(pods, folded),
        "nodes": _find_matches(nodes, folded),
        "rules": _find_matches(set(rules), folded),
    }


def _find_matches(names: Iterable[str], text: str) -> list[str]:
    """Return at most 20 names that contain the case-folded `text`, the best matches first."""
    found = [name for name in names if text in name.casefold()]
    found.sort(key=lambda name: (not _begins_with(name, text), len(name), name))
    return found[:_MOST_MATCHES]


def _begins_with(name: str, text: str) -> bool:
    return any(
        part.startswith(text) for part in (name.casefold(), name.casefold().rpartition("/")[2])
    )
