"""Define `leaderElection` of the configuration, without the dependencies of the election itself."""

from __future__ import annotations

import msgspec


class LeaderElectionConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Whether processes elect a leader, and how; durations have the form `15s`."""

    leader_elect: bool = False
    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"
    resource_name: str = "policysched"
    resource_namespace: str = ""
    """`""` means the namespace of this pod, or `election.DEFAULT_NAMESPACE`."""
