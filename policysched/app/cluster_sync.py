"""No pod is scheduled before the kinds of objects are known that the profiles read."""

from __future__ import annotations

from collections.abc import Callable, Collection

from policysched import errors
from policysched.framework import profile
from policysched.kube.reading import watch_sync
from policysched.profiles import needed_kinds


class ClusterSync(watch_sync.WatchSync):
    """Says when enough of a cluster of nodes is known, which is a matter of the profiles."""

    async def wait_until_profiles_synced(
        self, profiles: Callable[[], Collection[profile.Profile]]
    ) -> None:
        """Return when all is known that the profiles read, which may change meanwhile."""
        await self.wait_until_synced(lambda: needed_kinds.find_plugins_by_resource(profiles()))

    def require_synced(self, profiles: Collection[profile.Profile]) -> None:
        """See that profiles read nothing that is not known; before scheduling begins, all may.

        Raises:
            ConfigurationError: they do.
        """
        readers = needed_kinds.find_plugins_by_resource(profiles)
        missing = self.find_unsynced_resources(readers) if self.is_ready else []
        if missing:
            named = ", ".join(f"{name} (read by {', '.join(readers[name])})" for name in missing)
            problem = f"the API server has not let us list and watch {named}"
            raise errors.ConfigurationError("profiles", problem)

    def describe_unsynced_profiles(self, profiles: Collection[profile.Profile]) -> str:
        """Return what is missing, "" where scheduling may begin."""
        return self.describe_unsynced_resources(needed_kinds.find_plugins_by_resource(profiles))
