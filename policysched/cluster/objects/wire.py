"""Define the base of all wire structs, and the types of their fields."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

Quantity: TypeAlias = str | int | float
ResourceList: TypeAlias = dict[str, Quantity]
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Integers of the Kubernetes API; larger values fit into neither the columns nor the API server."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of msgspec for a body: invalid JSON or UTF-8, a schema mismatch, excessive nesting."""


class WireStruct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Base of all wire structs: frozen, camelCase names, default values omitted when encoded."""
