"""`leaderElection` of the configuration; the election itself needs HTTP and credentials."""

from __future__ import annotations

import msgspec


class LeaderElectionConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Whether and how processes elect a leader; times have the form `15s`."""

    leader_elect: bool = False
    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"
    resource_name: str = "policysched"
    resource_namespace: str = ""
    """`""` for the namespace of this process's pod, or else `election.DEFAULT_NAMESPACE`."""
