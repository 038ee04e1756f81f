"""Proposals for functions of devices, and for the names of classes, attributes and capacities."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from policysched.lang.words import vocabulary
from policysched.language_server.features import proposals
from policysched.language_server.words import cursor_contexts
from policysched.language_server.words import vocabulary as words

FUNCTIONS = frozenset({*vocabulary.DEVICE_COUNT_FUNCTIONS, *vocabulary.DEVICE_VALUE_FUNCTIONS})
_OF_NODES = frozenset({"devices", "freeDevices"})
"""The functions that conditions can read."""
_MAX_SHOWN_VALUES = 5
_DETAILS = {
    "devices": "DeviceClass",
    "deviceAttribute": "attribute of devices",
    "deviceCapacity": "capacity of devices",
}
"""Key of the facts of a cluster -> the kind of its names."""


def propose_device_names(
    known: words.CompletionVocabulary, function: str
) -> Iterator[proposals.CompletionProposal]:
    """Yield the names in the cluster that a function can have as its argument."""
    kind = _find_kind(function)
    for name, values in known.facts.get(kind, {}).items():
        text = proposals.quote_expression_name(name)
        doc = _list_values(values)
        yield proposals.CompletionProposal(text, "value", _DETAILS[kind], doc, rank=1)


def describe_device_name(known: words.CompletionVocabulary, function: str, name: str) -> str:
    """Describe the argument of a function by the cluster; "" if nothing is known."""
    if function not in FUNCTIONS:
        return ""
    kind = _find_kind(function)
    facts = known.facts.get(kind)
    if not facts:
        return ""
    if name not in facts:
        return f"`{name}`: the cluster has no such {_DETAILS[kind]}"
    return " ".join((f"`{name}`: {_DETAILS[kind]}.", _list_values(facts[name]))).strip()


def _find_kind(function: str) -> str:
    return "devices" if function in vocabulary.DEVICE_COUNT_FUNCTIONS else function


def _list_values(values: Collection[str]) -> str:
    shown = ", ".join(sorted(values)[:_MAX_SHOWN_VALUES])
    shown += ", …" if len(values) > _MAX_SHOWN_VALUES else ""
    return f"Values: {shown}" if shown else ""


def list_misplaced_functions(context: cursor_contexts.CursorContext) -> frozenset[str]:
    """Return the functions that are not allowed at the cursor, or of no use there."""
    if context.item in ("clusterPolicy", "metric"):
        return FUNCTIONS
    return FUNCTIONS - _OF_NODES if context.statement == "reject" else frozenset()
