"""Delay scheduling until the watches of all resources that the profiles read are synced."""

from __future__ import annotations

from collections.abc import Callable, Collection

from policysched import errors
from policysched.framework import profile
from policysched.kube.reading import watch_sync
from policysched.profiles import needed_kinds


class ClusterSync(watch_sync.WatchSync):
    """Determines when all resources that the profiles read are synced."""

    async def wait_until_profiles_synced(
        self, profiles: Callable[[], Collection[profile.Profile]]
    ) -> None:
        """Wait until all resources that profiles read are synced; profiles can change meanwhile."""
        await self.wait_until_synced(lambda: needed_kinds.find_plugins_by_resource(profiles()))

    def require_synced(self, profiles: Collection[profile.Profile]) -> None:
        """Require that profiles read only synced resources; before scheduling begins, do nothing.

        Raises:
            ConfigurationError: a profile reads a resource that is not synced.
        """
        readers = needed_kinds.find_plugins_by_resource(profiles)
        missing = self.find_unsynced_resources(readers) if self.is_ready else []
        if missing:
            named = ", ".join(f"{name} (read by {', '.join(readers[name])})" for name in missing)
            problem = f"the API server has not yet allowed list and watch of {named}"
            raise errors.ConfigurationError("profiles", problem)

    def describe_unsynced_profiles(self, profiles: Collection[profile.Profile]) -> str:
        """Return a text that names the unsynced resources, or "" if scheduling can begin."""
        return self.describe_unsynced_resources(needed_kinds.find_plugins_by_resource(profiles))
