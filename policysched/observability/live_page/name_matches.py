"""Find names by a part of them, for the search field of the page."""

from __future__ import annotations

_MOST_MATCHES = 20


def find_matches(names: list[str], text: str) -> list[str]:
    """Return at most 20 names that contain the case-folded `text`."""
    found = [name for name in names if text in name.casefold()]
    found.sort(key=lambda name: (not _begins_with(name, text), len(name), name))
    return found[:_MOST_MATCHES]


def _begins_with(name: str, text: str) -> bool:
    return any(
        part.startswith(text) for part in (name.casefold(), name.casefold().rpartition("/")[2])
    )
