"""Find invalid durations of `leaderElection`, with the limits of client-go.

Source: `tools/leaderelection`, NewLeaderElector.
"""

from __future__ import annotations

from collections.abc import Iterable

from policysched import durations
from policysched.config import election_config
from policysched.kube.election import leader_election

_SHORTEST_LEASE_SECONDS = 1.0  # `leaseDurationSeconds` is an integer and must not be 0


def find_election_problems(
    config: election_config.LeaderElectionConfig,
) -> Iterable[tuple[str, str]]:
    """Yield each problem as (field name in the file, description)."""
    by_field = {
        "leaseDuration": durations.parse_duration_seconds(config.lease_duration),
        "renewDeadline": durations.parse_duration_seconds(config.renew_deadline),
        "retryPeriod": durations.parse_duration_seconds(config.retry_period),
    }
    for field, seconds in by_field.items():
        if not seconds:
            yield field, f"`{field}` must be a duration above 0, such as `15s` or `1m30s`"
    lease, deadline, period = by_field.values()
    if not lease or not deadline or not period:
        return
    if lease < _SHORTEST_LEASE_SECONDS:
        yield "leaseDuration", "`leaseDuration` must be at least `1s`"
    if lease <= deadline:
        yield "leaseDuration", "`leaseDuration` must be greater than `renewDeadline`"
    if deadline <= leader_election.JITTER_FACTOR * period:
        factor = leader_election.JITTER_FACTOR
        yield "renewDeadline", f"`renewDeadline` must be greater than {factor} times `retryPeriod`"
