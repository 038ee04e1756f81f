"""Write the state of the rollout to the cluster, and try again after failures."""

from __future__ import annotations

import random

from policysched import clock as clocks
from policysched.kube import errors
from policysched.reload import retries
from policysched.reload.rollouts import records
from policysched.rollout import progress

_INTERVAL_SECONDS = 10.0
"""Interval at which the counts of a running stage are written, for `rollout status`."""


class RolloutStateWriter:
    """Writes states one after the other; the cluster has the newest one in the end.

    Attributes:
        pending: the state to write next; None if the cluster has the newest one.
    """

    def __init__(
        self, records: records.RolloutRecords, clock: clocks.Clock, rng: random.Random
    ) -> None:
        """Write to `records`; `rng` randomises the delays of retries."""
        self.pending: progress.RolloutState | None = None
        self._records = records
        self._clock = clock
        self._retries = retries.RequestRetries("the state of the rollout", rng)
        self._written_seconds = self._retry_at_seconds = clock.monotonic_seconds()

    @property
    def is_due(self) -> bool:
        """Whether the counts of a running stage should be written again."""
        return self._clock.monotonic_seconds() >= self._written_seconds + _INTERVAL_SECONDS

    async def write(self, state: progress.RolloutState) -> bool:
        """Try to write a state, unless the last failure is too recent; return the success.

        The pending state is obsolete then, unless it became pending during the write.
        """
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds < self._retry_at_seconds:
            return False
        pending = self.pending
        try:
            await self._records.write(state)
        except errors.FencedWriteError:
            return False  # the lease is lost; the next leader goes on
        except errors.KubeError as error:
            self._retry_at_seconds = now_seconds + self._retries.record_failure(error)
            return False
        if self.pending is pending:
            self.pending = None
        self._written_seconds = now_seconds
        self._retries.record_success()
        return True
