"""What all wire structs share."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

Quantity: TypeAlias = str | int | float
ResourceList: TypeAlias = dict[str, Quantity]


class WireStruct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What all wire structs share: frozen, camelCase names, defaults left out when encoded."""
