"""Proposals for what functions of selectors read of nodes, and of the owners of pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from policysched import release_version
from policysched.lang.words import vocabulary
from policysched.language_server.words import cursor_contexts
from policysched.language_server.words import vocabulary as words

_LISTS = frozenset({"In", "in", "NotIn", "notIn", "notin"})
_SIGNS = frozenset({"=", "==", "!=", "<", "<=", ">", ">=", "Gt", "Lt"})
FUNCTIONS: Mapping[str, Literal["node", "pod"]] = MappingProxyType(
    {"annotation": "node", "condition": "node", "nodeInfo": "node", "owner": "pod"}
)
"""The functions of selectors with known arguments -> the objects of which they are known."""


def list_fact_words(
    known: words.CompletionVocabulary, context: cursor_contexts.CursorContext
) -> Iterator[tuple[str, str]]:
    """Yield each word that fits the cursor, with its meaning.

    The cursor is in the parentheses of a function, or after an operator that follows one.
    """
    opening, _ = context.enclosing
    if opening in FUNCTIONS:
        for key in _list_arguments(known, opening):
            yield key, "of the controlling owner" if opening == "owner" else f"{opening} of nodes"
        return
    function, key = find_compared_fact(context)
    facts = known.facts.get(function, {})
    values: Iterable[str] = facts.get(key.strip('"'), ())
    if function == "condition":
        values = vocabulary.CONDITION_STATUSES
    if function == "nodeInfo":
        values = {text for value in values if (text := _shorten_version(value))}
    for value in values:
        yield value, f"value of {key}"


def _list_arguments(known: words.CompletionVocabulary, function: str) -> set[str]:
    found = set(known.facts.get(function, ()))
    if function == "condition":
        found |= set(vocabulary.NODE_CONDITIONS)
    if function == "nodeInfo":
        found |= set(vocabulary.NODE_INFO)
    if function == "owner":
        found |= set(vocabulary.OWNER_FIELDS)
    return found


def find_function(context: cursor_contexts.CursorContext) -> str:
    """Return the function whose argument or value is at the cursor, or ""."""
    opening, _ = context.enclosing
    return opening if opening in FUNCTIONS else find_compared_fact(context)[0]


def find_compared_fact(context: cursor_contexts.CursorContext) -> tuple[str, str]:
    """Return the function and the argument before the operator at the cursor; "" for other places.

    The operator is the word before the cursor, or opens the list in which the cursor is.
    """
    before = [each.text for each in context.before]
    if context.enclosing[0] in _LISTS:
        before = before[: len(before) - before[::-1].index("(") - 1]
    match before:
        case [*_, function, "(", key, ")", operator] if function in FUNCTIONS:
            return (function, key) if operator in _SIGNS | _LISTS else ("", "")
        case _:
            return "", ""


def _shorten_version(text: str) -> str:
    """Return major and minor of a version, or "" if the text is not a version."""
    version = release_version.parse_release_version(text)
    return f"{version.major}.{version.minor}" if version is not None else ""
