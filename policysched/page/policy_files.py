"""The files of the policies that the page shows: when they were read, and what changed since."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from policysched import errors
from policysched.inputs import policy_sources


class PolicyFiles:
    """Policies that were read once, at the start.

    Attributes:
        texts: the policies, in the order in which they were read.
    """

    def __init__(self, paths: Sequence[str], now: datetime.datetime) -> None:
        """Read the policies at `paths`.

        Raises:
            InputError: a path cannot be read, or contains no policy text.
            UsageError: a path is empty.
        """
        self._paths = list(paths)
        self._read_at = now
        self.texts = policy_sources.read_policy_texts(paths)

    def describe(self) -> dict[str, Any]:
        """Return the time of the reading, and the names whose present text differs."""
        return {"readAt": self._read_at.isoformat(), "changed": self._list_changes()}

    def _list_changes(self) -> list[str]:
        if any(policy_sources.is_readable_only_once(each) for each in self._paths):
            return []
        try:
            texts = policy_sources.read_policy_texts(self._paths)
        except errors.InputError as error:
            return [error.where]
        present = {each.name: each.text for each in texts}
        known = {each.name: each.text for each in self.texts}
        return [name for name in known | present if known.get(name) != present.get(name)]
