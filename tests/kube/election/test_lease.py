"""The Lease as it is read and written."""

from __future__ import annotations

import datetime

import pytest

from policysched.kube import errors
from policysched.kube.election import lease
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import Answer, FakeServer, json_body, raw, status

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LEASE = LEASES + "/policysched"
TIME = "2026-03-02T10:00:00.000000Z"
RECORD = lease.LeaderElectionRecord("me", 15, TIME, TIME, 3)
SPEC = {
    "holderIdentity": "me",
    "leaseDurationSeconds": 15,
    "acquireTime": TIME,
    "renewTime": TIME,
    "leaseTransitions": 3,
}


def stored(spec: object, **meta: object) -> dict[str, object]:
    """Return a Lease as the server has it."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "policysched", "resourceVersion": "7", **meta},
        "spec": spec,
    }


async def read(server: FakeServer) -> lease.StoredLease | None:
    """Read the lease."""
    async with server.client() as api:
        return await lease.LeaseStore(api, "kube-system", "policysched", timeout_seconds=5).read()


@pytest.mark.parametrize(
    "answer, record",
    [
        pytest.param(json_body(stored(SPEC)), RECORD, id="held"),
        pytest.param(json_body(stored({})), lease.LeaderElectionRecord(), id="empty"),
        pytest.param(json_body(stored(None)), lease.LeaderElectionRecord(), id="without a spec"),
        pytest.param(
            json_body(stored({"holderIdentity": None, "leaseTransitions": 2})),
            lease.LeaderElectionRecord(transitions=2),
            id="released by a coordinator",
        ),
        pytest.param(status(404, "NotFound", "no lease"), None, id="missing"),
    ],
)
@asynchronous
async def test_what_is_read(answer: Answer, record: lease.LeaderElectionRecord | None) -> None:
    """Fields that are missing mean nothing; a lease that is missing is no error."""
    async with FakeServer() as server:
        server.on("GET", LEASE, answer)
        found = await read(server)
        assert (found.record if found else None) == record


@pytest.mark.parametrize(
    "answer, error",
    [
        pytest.param(raw(b"<html>"), errors.UndecodableAnswerError, id="no JSON"),
        pytest.param(json_body([]), errors.UndecodableAnswerError, id="no object"),
        pytest.param(
            json_body(stored({"leaseDurationSeconds": "15"})),
            errors.UndecodableAnswerError,
            id="no number",
        ),
        pytest.param(status(403, "Forbidden", "no"), errors.ForbiddenError, id="refused"),
        pytest.param(status(503), errors.ServerError, id="server away"),
    ],
)
@asynchronous
async def test_what_cannot_be_read(answer: Answer, error: type[errors.KubeError]) -> None:
    """It is told at once: the next attempt is the caller's."""
    async with FakeServer() as server:
        server.on("GET", LEASE, answer)
        with pytest.raises(error):
            await read(server)
        assert len(server.requests) == 1


@asynchronous
async def test_what_is_created() -> None:
    """A Lease with the fields of kube-scheduler's."""
    async with FakeServer() as server, server.client() as api:
        server.on("POST", LEASES, json_body(stored(SPEC), 201))
        store = lease.LeaseStore(api, "kube-system", "policysched", timeout_seconds=5)
        assert (await store.create(RECORD)).record == RECORD
        assert server.requests[0].body == {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": "kube-system", "name": "policysched"},
            "spec": SPEC,
        }


@asynchronous
async def test_what_is_replaced() -> None:
    """The version that was read is named, and what we do not know of the object stays."""
    async with FakeServer() as server, server.client() as api:
        labels = {"app": "policysched"}
        server.on("GET", LEASE, json_body(stored({"strategy": "x"}, labels=labels)))
        server.on("PUT", LEASE, json_body(stored(SPEC)), status(409, "Conflict", "changed"))
        store = lease.LeaseStore(api, "kube-system", "policysched", timeout_seconds=5)
        found = await store.read()
        assert found is not None
        await store.replace(found, RECORD)
        assert server.requests[1].body == stored(SPEC | {"strategy": "x"}, labels=labels)
        with pytest.raises(errors.ConflictError):
            await store.replace(found, RECORD)


def test_times_are_written_as_the_server_does() -> None:
    """MicroTime is RFC 3339 in UTC, always with six digits."""
    zone = datetime.timezone(datetime.timedelta(hours=2))
    time = datetime.datetime(2026, 3, 2, 12, 0, 0, 5, zone)
    assert lease.format_micro_time(time) == "2026-03-02T10:00:00.000005Z"
