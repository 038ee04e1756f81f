"""Types that all wire structs share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

Quantity: TypeAlias = str | int | float
ResourceList: TypeAlias = dict[str, Quantity]
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""The integers of the API; columns and the API server store no larger ones."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Raised by msgspec for a body: invalid JSON, another schema, invalid UTF-8, excessive nesting."""


class WireStruct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Base of all wire structs: frozen, camelCase names, defaults omitted when encoded."""
