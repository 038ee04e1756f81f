"""Replace literals of messages, such as `google.protobuf.Duration{seconds: 1}`, by calls.

The checker then finds the types of the fields as it does for other arguments.
"""

from __future__ import annotations

from typing import Final

from policysched.cel.failures import CompilationError
from policysched.cel.syntax_tree import (
    CelNode,
    FunctionCall,
    Literal,
    find_qualified_name,
)

_FIELDS: Final = ("seconds", "nanos")
_CONSTRUCTORS: Final = {
    "google.protobuf.Duration": "@duration",
    "google.protobuf.Timestamp": "@timestamp",
}
"""Names that no expression can write."""


def make_message(name: CelNode, fields: list[tuple[str, CelNode]]) -> CelNode:
    """Return the call that makes a message; fields that are not written are zero.

    Raises:
        CompilationError: no such message is supported, or its fields do not fit.
    """
    message = find_qualified_name(name)
    if message not in _CONSTRUCTORS:
        raise CompilationError(f"literals of '{message}' are not supported")
    values = dict(fields)
    if len(values) < len(fields):
        raise CompilationError("a field of a message is given twice")
    for field in values:
        if field not in _FIELDS:
            raise CompilationError(f"undefined field '{field}'")
    arguments = [values.get(field, Literal(0)) for field in _FIELDS]
    return FunctionCall(_CONSTRUCTORS[message], None, arguments)


def make_optional_field(value: CelNode) -> CelNode:
    """Return the value of a field after a question mark."""
    return FunctionCall("orValue", value, [Literal(0)])
