"""What all wire structs share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

Quantity: TypeAlias = str | int | float
ResourceList: TypeAlias = dict[str, Quantity]
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""The integers of the API: columns hold no others, and the API server stores no others."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for a body: no JSON or another shape, no UTF-8, nested without end."""


class WireStruct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What all wire structs share: frozen, camelCase names, defaults left out when encoded."""
