"""Proposals for functions of devices, and for the names of classes, attributes and capacities."""

from __future__ import annotations

from collections.abc import Iterator

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
"""Key of the facts of a cluster -> what the names are."""


def propose_device_names(
    known: words.CompletionVocabulary, function: str
) -> Iterator[proposals.CompletionProposal]:
    """Yield the names in the cluster that a function can have as its argument."""
    kind = "devices" if function in vocabulary.DEVICE_COUNT_FUNCTIONS else function
    for name, values in known.facts.get(kind, {}).items():
        shown = ", ".join(sorted(values)[:_MAX_SHOWN_VALUES])
        shown += ", …" if len(values) > _MAX_SHOWN_VALUES else ""
        yield proposals.CompletionProposal(
            proposals.quote_expression_name(name),
            "value",
            _DETAILS[kind],
            f"Values: {shown}" if shown else "",
            rank=1,
        )


def list_misplaced_functions(context: cursor_contexts.CursorContext) -> frozenset[str]:
    """Return the functions that are not allowed at the cursor, or of no use there."""
    if context.item in ("clusterPolicy", "metric"):
        return FUNCTIONS
    return FUNCTIONS - _OF_NODES if context.statement == "reject" else frozenset()
