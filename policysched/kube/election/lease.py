"""Read, create and replace the Lease (coordination.k8s.io/v1) that names the leader.

Only the fields of leader election change; all other fields are written back as read. Every write
contains the resource version that it replaces. Therefore the server refuses (409) one of two
concurrent writes, and any write that arrives too late.
"""

from __future__ import annotations

import dataclasses
import datetime
import urllib.parse
from typing import Any

import msgspec

from policysched.cluster.objects import wire
from policysched.kube import errors
from policysched.kube.http import client


@dataclasses.dataclass(frozen=True, slots=True)
class LeaderElectionRecord:
    """The election record of a Lease (`tools/leaderelection/resourcelock/interface.go`).

    Attributes:
        holder: identity of the leader, or "" for none.
        duration_seconds: time after a change during which other candidates must not acquire the
            lease.
        acquired_at, renewed_at: times of the leader's wall clock, only for human readers.
        transitions: number of times that the holder has changed.
    """

    holder: str = ""
    duration_seconds: int = 0
    acquired_at: str = ""
    renewed_at: str = ""
    transitions: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class StoredLease:
    """A Lease on the server.

    Attributes:
        record: the fields of leader election.
        content: the whole object.
    """

    record: LeaderElectionRecord
    content: dict[str, Any]


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class LeaseStore:
    """One Lease on the API server."""

    def __init__(
        self, api: client.ApiClient, namespace: str, name: str, *, timeout_seconds: float
    ) -> None:
        """Use `api`, whose write fence must not depend on this lease.

        Each call ends within `timeout_seconds` and is not repeated here: the elector repeats it.
        """
        self._api = api
        self._meta = {"namespace": namespace, "name": name}
        self._path = (
            f"/apis/coordination.k8s.io/v1/namespaces/{_quote_path_segment(namespace)}/leases"
        )
        self._policy = client.CallRetryPolicy(timeout_seconds=timeout_seconds, max_attempts=1)

    @property
    def namespaced_name(self) -> str:
        """Return `namespace/name`."""
        return f"{self._meta['namespace']}/{self._meta['name']}"

    async def read(self) -> StoredLease | None:
        """Return the lease, or None if it does not exist.

        Raises:
            KubeError: the lease could not be read.
        """
        try:
            return _decode_lease(
                await self._api.send_request("GET", self._lease_path, policy=self._policy)
            )
        except errors.NotFoundError:
            return None

    async def create(self, record: LeaderElectionRecord) -> StoredLease:
        """Create the lease.

        Raises:
            ConflictError: another process has created it.
            KubeError: the lease was not created, or the outcome is unknown.
        """
        content = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": self._meta,
            "spec": _make_lease_spec(record),
        }
        return await self._send_lease("POST", self._path, content)

    async def replace(self, stored: StoredLease, record: LeaderElectionRecord) -> StoredLease:
        """Write the record into a lease that has not changed since `stored` was read.

        Raises:
            ConflictError: the lease has changed.
            KubeError: the lease was not written, or the outcome is unknown.
        """
        spec = (stored.content.get("spec") or {}) | _make_lease_spec(record)
        return await self._send_lease("PUT", self._lease_path, stored.content | {"spec": spec})

    @property
    def _lease_path(self) -> str:
        return f"{self._path}/{_quote_path_segment(self._meta['name'])}"

    async def _send_lease(self, method: str, path: str, content: dict[str, Any]) -> StoredLease:
        body = msgspec.json.encode(content)
        return _decode_lease(await self._api.send_request(method, path, body, policy=self._policy))


def format_micro_time(time: datetime.datetime) -> str:
    """Format `time` as metav1.MicroTime, RFC 3339 with microseconds, as in a Lease."""
    utc = time.astimezone(datetime.UTC)
    return utc.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _decode_lease(body: bytes) -> StoredLease:
    """Decode a Lease; absent fields become empty or zero."""
    try:
        content = msgspec.json.decode(body, type=dict[str, Any])
        spec = msgspec.convert(content.get("spec") or {}, _LeaseSpec)
    except wire.UNREADABLE as error:
        raise errors.UndecodableAnswerError(f"the answer is not a Lease: {error}") from error
    record = LeaderElectionRecord(
        spec.holder_identity or "",
        spec.lease_duration_seconds or 0,
        spec.acquire_time or "",
        spec.renew_time or "",
        spec.lease_transitions or 0,
    )
    return StoredLease(record, content)


def _make_lease_spec(record: LeaderElectionRecord) -> dict[str, Any]:
    """Return the fields of the Lease's spec that this process writes.

    `preferredHolder` and `strategy` belong to elections that the server coordinates.
    """
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.duration_seconds,
        "acquireTime": record.acquired_at,
        "renewTime": record.renewed_at,
        "leaseTransitions": record.transitions,
    }


def _quote_path_segment(name: str) -> str:
    return urllib.parse.quote(name, safe="")
