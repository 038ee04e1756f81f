"""Leader election with a Lease: at most one of several processes leads at any time.

`LeaderCandidate` has the state of one process and applies the rules, without I/O; `LeaseElector`
calls the API server and waits. The rules follow client-go
(`tools/leaderelection/leaderelection.go`):

- A candidate acquires the lease if it has no holder, or if it has not changed for its lease
  duration, measured by the candidate's own clock from when it saw the last change. The times in the
  lease are only for human readers.
- The leader renews the lease every `retry_period`, and stops leading if no renewal has succeeded
  for `renew_deadline`. The deadline is shorter than the lease duration, which leaves time for
  clocks that run at different speeds.
- A leader that shuts down releases the lease, so that the next leader does not have to wait.

client-go measures from the answer to a renewal; this module measures from before the request is
sent. No other candidate can see the renewal earlier than that, so a leader stops before another
process can start to lead, even if messages are lost or late.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
import random
from collections.abc import Coroutine
from typing import Protocol

from policysched import clock as clocks
from policysched.kube import errors
from policysched.kube.election import lease
from policysched.kube.http import client, fence

_log = logging.getLogger(__name__)

JITTER_FACTOR = 1.2
"""Candidates add a random wait of up to this many retry periods (client-go, JitterFactor)."""

_MARGIN = 0.1
"""Unused share of the time between the renew deadline and the end of the lease.

It is a reserve for clocks that run at different speeds, and for data that is still in the network
after a connection was closed.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseTimings:
    """Durations of leader election; the defaults are kube-scheduler's.

    Attributes:
        lease_duration_seconds: after this time without a change, another process may acquire the
            lease.
        renew_deadline_seconds: after this time without a renewal, the leader stops writing.
        retry_period_seconds: interval between renewals, and between attempts by other candidates.
    """

    lease_duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0

    @property
    def last_writes_seconds(self) -> float:
        """Return the longest time that a write may take after the renew deadline."""
        return (self.lease_duration_seconds - self.renew_deadline_seconds) * (1.0 - _MARGIN)


class LeaderCandidate:
    """One process's state in the election: the lease as last seen, and its own renewals.

    Attributes:
        identity: the unique name of this process.
        times: the durations of leader election.
        clock: its monotonic time measures the durations.
    """

    def __init__(self, identity: str, times: LeaseTimings, clock: clocks.Clock) -> None:
        """Start without a known lease."""
        self.identity = identity
        self.times = times
        self.clock = clock
        self._stored: lease.StoredLease | None = None
        self._seen_at_seconds = 0.0
        self._renewed_at_seconds: float | None = None

    @property
    def stored_lease(self) -> lease.StoredLease | None:
        """Return the lease as last seen, or None if it does not exist or has not been read yet."""
        return self._stored

    @property
    def holder(self) -> str:
        """Return the holder of the lease as last seen, or "" for none."""
        return self._stored.record.holder if self._stored is not None else ""

    def observe_lease(self, stored: lease.StoredLease | None) -> None:
        """Record the newest state of the lease."""
        # Only a change to the record shows that its holder is alive, so only a change restarts the
        # lease duration.
        if stored is None or self._stored is None or stored.record != self._stored.record:
            self._seen_at_seconds = self.clock.monotonic_seconds()
        self._stored = stored
        if self.holder != self.identity:
            self._renewed_at_seconds = None

    def build_acquisition_record(self) -> lease.LeaderElectionRecord | None:
        """Return the record that acquires the lease, or None while another process leads."""
        now = lease.format_micro_time(self.clock.now())
        duration_seconds = math.ceil(self.times.lease_duration_seconds)  # rounding up is safe
        mine = lease.LeaderElectionRecord(self.identity, duration_seconds, now, now)
        if self._stored is None:
            return mine
        record = self._stored.record
        if record.holder == self.identity:
            acquired_at, transitions = record.acquired_at, record.transitions
        elif self._is_lease_free(record):
            acquired_at, transitions = now, record.transitions + 1
        else:
            return None
        return dataclasses.replace(mine, acquired_at=acquired_at, transitions=transitions)

    def note_written_lease(self, stored: lease.StoredLease, sent_at_seconds: float) -> None:
        """Record a successful write that acquired or renewed the lease."""
        self.observe_lease(stored)
        self._renewed_at_seconds = sent_at_seconds

    def step_down(self) -> None:
        """Stop leading until the lease is written again."""
        self._renewed_at_seconds = None

    def build_release_record(self) -> lease.LeaderElectionRecord | None:
        """Return the record that releases the lease, or None if this process does not hold it."""
        if self._stored is None or self.holder != self.identity:
            return None
        now = lease.format_micro_time(self.clock.now())
        return lease.LeaderElectionRecord("", 1, now, now, self._stored.record.transitions)

    def get_write_deadline(self) -> float | None:
        """Return the monotonic time until which writes may begin, or None without the lease."""
        if self._renewed_at_seconds is None:
            return None
        return self._renewed_at_seconds + self.times.renew_deadline_seconds

    def compute_leading_seconds_left(self) -> float:
        """Return the seconds until this process stops leading, or 0 if it does not lead."""
        until_seconds = self.get_write_deadline()
        if until_seconds is None:
            return 0.0
        return max(0.0, until_seconds - self.clock.monotonic_seconds())

    def compute_seconds_since_expiry(self) -> float:
        """Return the seconds since the lease expired while this process still claims it.

        As in client-go's `LeaderElector.Check`; more than a few seconds mean that renewals hang.
        """
        if self._renewed_at_seconds is None:
            return 0.0
        free_at_seconds = self._renewed_at_seconds + self.times.lease_duration_seconds
        return max(0.0, self.clock.monotonic_seconds() - free_at_seconds)

    def _is_lease_free(self, record: lease.LeaderElectionRecord) -> bool:
        if not record.holder:
            return True
        # A lease without a duration was created by hand: use the configured duration.
        seconds = record.duration_seconds or self.times.lease_duration_seconds
        return self.clock.monotonic_seconds() >= self._seen_at_seconds + seconds


class ResourceLock(Protocol):
    """The storage of the lease; see `lease.LeaseStore`."""

    @property
    def namespaced_name(self) -> str:
        """Return the `namespace/name` of the lease, for logs."""
        ...

    async def read(self) -> lease.StoredLease | None:
        """Return the lease, or None if it does not exist."""
        ...

    async def create(self, record: lease.LeaderElectionRecord) -> lease.StoredLease:
        """Create the lease."""
        ...

    async def replace(
        self, stored: lease.StoredLease, record: lease.LeaderElectionRecord
    ) -> lease.StoredLease:
        """Write the record if the lease has not changed since `stored` was read."""
        ...


class LeaseElector:
    """Acquires, renews and releases the lease for one process.

    Call `acquire`, then `renew`, and repeat both after a loss; call `release` on shutdown. The
    leader's work must end between `renew` and the next `acquire`.
    """

    def __init__(
        self,
        leases: ResourceLock,
        candidate: LeaderCandidate,
        writes: fence.WriteFence,
        *,
        rng: random.Random,
        sleep: client.Sleep = asyncio.sleep,
    ) -> None:
        """Create an elector that opens the fence `writes` while this process leads.

        Args:
            leases: stores the lease.
            candidate: the state of this process in the election.
            writes: blocks writes while this process does not lead.
            rng: randomises the times of attempts.
            sleep: waits for a number of seconds.
        """
        self._leases = leases
        self._candidate = candidate
        self._writes = writes
        self._times = candidate.times
        self._clock = candidate.clock
        self._rng = rng
        self._sleep = sleep
        self._newest_failure = ""
        self._newest_holder = ""

    @property
    def is_leading(self) -> bool:
        """Whether writes of this process may begin now."""
        return self._candidate.compute_leading_seconds_left() > 0

    @property
    def holder(self) -> str:
        """The identity of the leader as last seen, or "" for none."""
        return self._candidate.holder

    def overdue_seconds(self) -> float:
        """Return the seconds for which this process has failed to notice the loss of its lease."""
        return self._candidate.compute_seconds_since_expiry()

    async def acquire(self) -> None:
        """Return once this process leads."""
        while not await self._try_to_lead():
            self._log_holder()
            longer = 1.0 + JITTER_FACTOR * self._rng.random()
            await self._sleep(self._times.retry_period_seconds * longer)
        _log.info(
            "leading by the lease %s as %s", self._leases.namespaced_name, self._candidate.identity
        )

    async def renew(self) -> None:
        """Renew the lease until it is lost; return when writes may no longer begin."""
        while left_seconds := self._candidate.compute_leading_seconds_left():
            await self._sleep(min(self._times.retry_period_seconds, left_seconds))
            await self._retry_within(
                self._candidate.compute_leading_seconds_left(), self._try_to_lead()
            )
        self._writes.close()
        self._candidate.step_down()
        self._newest_holder = ""
        _log.warning("lost the lease %s", self._leases.namespaced_name)

    async def release(self) -> None:
        """Close the write fence and release the lease for the next leader."""
        self._writes.close()
        try:
            if not await self._try_release():
                self._candidate.observe_lease(await self._leases.read())
                await self._try_release()
        except errors.KubeError as error:
            _log.warning("the lease %s was not released: %s", self._leases.namespaced_name, error)

    async def _try_release(self) -> bool:
        """Try to release the lease; return False if it has changed and must be read again."""
        record, stored = self._candidate.build_release_record(), self._candidate.stored_lease
        if record is None or stored is None:
            return True
        try:
            self._candidate.observe_lease(await self._leases.replace(stored, record))
        except errors.ConflictError:  # the server has a renewal whose answer was lost
            return False
        _log.info("released the lease %s", self._leases.namespaced_name)
        return True

    async def _try_to_lead(self) -> bool:
        """Try to acquire or renew the lease; return whether that certainly succeeded."""
        try:
            if self.is_leading and await self._write_lease():
                return True
            self._candidate.observe_lease(await self._leases.read())
            is_written = await self._write_lease()
        except errors.KubeError as error:
            self._log_first_failure(error)
            return False
        self._newest_failure = ""
        return is_written

    async def _write_lease(self) -> bool:
        """Write the lease if the rules permit it; return False if another process holds it."""
        candidate = self._candidate
        record, stored = candidate.build_acquisition_record(), candidate.stored_lease
        if record is None:
            return False
        sent_at_seconds = self._clock.monotonic_seconds()
        try:
            if stored is None:
                newest = await self._leases.create(record)
            else:
                newest = await self._leases.replace(stored, record)
        except (errors.ConflictError, errors.NotFoundError):
            return False
        candidate.note_written_lease(newest, sent_at_seconds)
        self._writes.permit_writes_until(sent_at_seconds + self._times.renew_deadline_seconds)
        return True

    async def _retry_within(self, seconds: float, attempt: Coroutine[None, None, bool]) -> None:
        """Run `attempt` and cancel it after `seconds`."""
        # A call that hangs must not delay stepping down, so the attempt runs in its own task.
        trying = asyncio.create_task(attempt)
        alarm = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait((trying, alarm), return_when=asyncio.FIRST_COMPLETED)
            if trying.done():
                trying.result()
        finally:
            trying.cancel()
            alarm.cancel()
            await asyncio.gather(trying, alarm, return_exceptions=True)

    def _log_first_failure(self, error: errors.KubeError) -> None:
        """Log a failure unless the previous one was of the same kind; attempts are frequent."""
        kind = getattr(error, "reason", type(error).__name__)
        if kind != self._newest_failure:
            self._newest_failure = kind
            _log.warning(
                "the lease %s could not be acquired: %s", self._leases.namespaced_name, error
            )

    def _log_holder(self) -> None:
        holder = self._candidate.holder
        if holder and holder != self._newest_holder:
            _log.info(
                "standing by: the lease %s is held by %s", self._leases.namespaced_name, holder
            )
        self._newest_holder = holder
