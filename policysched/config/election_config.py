"""`leaderElection` of the configuration; the election itself needs HTTP and credentials."""

from __future__ import annotations

import msgspec


class LeaderElectionConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Whether and how one of several processes is elected; times are as `15s`."""

    leader_elect: bool = False
    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"
    resource_name: str = "policysched"
    resource_namespace: str = ""
    """`""` for the namespace of the pod that we run in, else `election.DEFAULT_NAMESPACE`."""
