"""Create the leader elector from the validated `leaderElection` configuration.

Names, defaults and limits match kube-scheduler's (`component-base/config`,
LeaderElectionConfiguration; `tools/leaderelection`, NewLeaderElector), with two exceptions: the
lease has its own name, and leader election is off by default.
"""

from __future__ import annotations

import contextlib
import logging
import platform
import random
import uuid
from collections.abc import AsyncIterator, Iterable

from prometheus_client import core

from policysched import clock as clocks
from policysched import durations
from policysched.config import election_config
from policysched.kube.auth import kubeconfig
from policysched.kube.election import leader_election, lease
from policysched.kube.http import client, fence
from policysched.leadership import runner

_log = logging.getLogger("policysched")

DEFAULT_NAMESPACE = "kube-system"
"""Namespace of the lease if it is not configured and this process is not in a pod."""

_NAME_OF_KUBE_SCHEDULER = "kube-scheduler"
_LEASE_CONNECTIONS = 2


def parse_lease_timings(
    config: election_config.LeaderElectionConfig,
) -> leader_election.LeaseTimings:
    """Return the durations of a validated configuration."""
    return leader_election.LeaseTimings(
        durations.parse_duration_seconds(config.lease_duration) or 0.0,
        durations.parse_duration_seconds(config.renew_deadline) or 0.0,
        durations.parse_duration_seconds(config.retry_period) or 0.0,
    )


def make_closed_write_fence(clock: clocks.Clock) -> fence.WriteFence:
    """Return a fence that is never opened, for a process that never leads."""
    return fence.WriteFence(clock, last_writes_seconds=0.0)


def make_write_fence(
    config: election_config.LeaderElectionConfig, clock: clocks.Clock
) -> fence.WriteFence | None:
    """Return the write fence, or None without leader election."""
    if not config.leader_elect:
        return None
    return fence.WriteFence(clock, parse_lease_timings(config).last_writes_seconds)


@contextlib.asynccontextmanager
async def make_lease_elector(
    config: election_config.LeaderElectionConfig,
    connection: kubeconfig.ApiClientConfig,
    writes: fence.WriteFence | None,
    clock: clocks.Clock,
    rng: random.Random,
) -> AsyncIterator[runner.LeaderElector]:
    """Yield the elector that opens and closes the fence `writes`.

    The elector has its own connections without a rate limit, so that renewals do not wait for
    other requests.
    """
    if writes is None:
        _log.info("leader election is off: no other process may serve the same profiles")
        yield runner.AlwaysLeader()
        return
    if config.resource_name == _NAME_OF_KUBE_SCHEDULER:
        _log.warning(
            "the lease `kube-scheduler` belongs to kube-scheduler, so only one of the two "
            "schedules at a time"
        )
    async with client.ApiClient(connection, rng=rng, max_connections=_LEASE_CONNECTIONS) as api:
        known = parse_lease_timings(config)
        leases = lease.LeaseStore(
            api,
            config.resource_namespace or connection.own_namespace or DEFAULT_NAMESPACE,
            config.resource_name,
            # Half the deadline, but at least a second, as in component-base's leader election
            # clients.
            timeout_seconds=max(1.0, known.renew_deadline_seconds / 2),
        )
        identity = f"{platform.node()}_{uuid.uuid4()}"
        candidate = leader_election.LeaderCandidate(identity, known, clock)
        yield leader_election.LeaseElector(leases, candidate, writes, rng=rng)


def collect_leadership_metrics(
    config: election_config.LeaderElectionConfig, elector: runner.LeaderElector
) -> Iterable[core.Metric]:
    """Yield client-go's metric that reports whether this process leads, if election is on."""
    if config.leader_elect:
        leads = core.GaugeMetricFamily(
            "leader_election_master_status",
            "1 if this process holds the lease, 0 if it is on standby.",
            labels=("name",),
        )
        leads.add_metric((config.resource_name,), float(elector.is_leading))
        yield leads
