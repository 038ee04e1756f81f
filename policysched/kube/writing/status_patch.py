"""Parts of strategic merge patches for the status of a pod."""

from __future__ import annotations

import msgspec


class ConditionPatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A condition; the API server merges conditions by type and keeps absent fields."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str | None = None
    observed_generation: int = 0
