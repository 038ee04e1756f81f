"""Proposals in `pod(…)` as a value: `tenant = pod(tenant)`, `zone = pod(namespaceLabel(zone))`."""

from __future__ import annotations

from collections.abc import Sequence

from policysched.lang.words import vocabulary
from policysched.language_server.words import cursor_contexts

_SIGNS = frozenset({"=", "==", "!=", "Gt", "Lt"})
_LISTS = frozenset({"In", "in", "NotIn", "notIn", "notin"})


def find_pod_value_function(context: cursor_contexts.CursorContext) -> str:
    """Return the function whose argument is at the cursor: `pod`, or one within it; else ""."""
    texts = [each.text for each in context.before]
    openings = _list_open_parentheses(texts)
    words = [texts[at - 1] if at else "" for at in openings]
    match words:
        case [*_, "pod"] if _is_value(texts, openings):
            return "pod"
        case [*_, "pod", function] if function in vocabulary.POD_VALUE_FUNCTIONS and _is_value(
            texts, openings[:-1]
        ):
            return function
        case _:
            return ""


def _list_open_parentheses(texts: Sequence[str]) -> list[int]:
    """Return the indices of the parentheses around the cursor, from outside to inside."""
    found: list[int] = []
    for at, text in enumerate(texts):
        if text == "(":
            found.append(at)
        elif text == ")" and found:
            found.pop()
    return found


def _is_value(texts: Sequence[str], openings: Sequence[int]) -> bool:
    """Return whether the `pod` before the last opening is a value of a requirement."""
    place = openings[-1] - 1
    before = texts[place - 1] if place else ""
    around = texts[openings[-2] - 1] if len(openings) > 1 and openings[-2] else ""
    return before in _SIGNS or (around in _LISTS and before in ("(", ","))
