"""Scratch memory that plugins keep between extension points."""

from __future__ import annotations

import datetime
from typing import Any, TypeVar

from policysched.cluster.objects import objects

ValueT = TypeVar("ValueT")


class CycleState:
    """Values by key; a key is conventionally the plugin's name.

    Plugins that are evaluated once for all equal pods (see `interface.Reads`) see a state that
    lives as long as their cached answer; all others see one that lives for a single cycle.

    Attributes:
        tolerations: the pod's own tolerations and those that policies add; plugins read these and
            not the pod's.
        left_out: numbers of the plugins that do not apply to the pod (`interface.ScopedPlugin`).
        valid_until: when cached answers stop to hold, None for no limit of time.
    """

    def __init__(
        self,
        tolerations: tuple[objects.Toleration, ...] = (),
        left_out: frozenset[int] = frozenset(),
    ) -> None:
        """Start empty."""
        self.tolerations = tolerations
        self.left_out = left_out
        self.valid_until: datetime.datetime | None = None
        self._values: dict[str, Any] = {}

    def expire_at(self, moment: datetime.datetime) -> None:
        """Say that answers given under this state hold only before `moment`."""
        if self.valid_until is None or moment < self.valid_until:
            self.valid_until = moment

    def write(self, key: str, value: object) -> None:
        """Keep `value` under `key`, replacing what was there."""
        self._values[key] = value

    def copy_values(self, other: CycleState) -> None:
        """Keep what `other` has, replacing what was there."""
        self._values.update(other._values)

    def read(self, key: str, kind: type[ValueT]) -> ValueT:
        """Return what was written under `key`.

        Raises:
            KeyError: nothing was written; a plugin read what its PreFilter or PreScore skipped.
        """
        del kind  # for the type checker only
        found: ValueT = self._values[key]
        return found

    def find(self, key: str, kind: type[ValueT]) -> ValueT | None:
        """Return what was written under `key`, or None."""
        del kind  # for the type checker only
        found: ValueT | None = self._values.get(key)
        return found
