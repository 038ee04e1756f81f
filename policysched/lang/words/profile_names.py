"""Names of profiles: the default name, and the profile for pods that name no profile."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

DEFAULT_SCHEDULER_NAME: Final = "policysched"
"""Name of the profile if neither a policy nor an option sets one."""


def find_fallback_profile(names: Collection[str | None]) -> str | None:
    """Return the name of the profile for pods whose schedulerName matches no profile, or None.

    This is the only profile, or the profile with the default name if there are several.
    """
    if len(names) == 1:
        return next(iter(names))
    return DEFAULT_SCHEDULER_NAME if DEFAULT_SCHEDULER_NAME in names else None
