"""The parts of a run besides the scheduler: arrivals, churn, restored victims, waits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

import pytest

from benchmarks import workload_files
from benchmarks.comparison import arrivals, churn, plans, turns
from benchmarks.records import measurements
from policysched.kube.events import event_recorder
from tests.realcluster import api_client, manifests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.realcluster import control_plane

LIMIT_SECONDS = 60.0


class FakeClient:
    """Accepts the calls of an API server.

    Attributes:
        there: objects that were created and not deleted, by path.
        calls: every call in order, as (verb, path).
        refused: names that are rejected.
    """

    def __init__(self) -> None:
        self.there: dict[str, Mapping[str, Any]] = {}
        self.calls: list[tuple[str, str]] = []
        self.refused: set[str] = set()
        self.changed = threading.Condition()

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object; generate its name if it has none."""
        with self.changed:
            meta = body["metadata"]
            name = meta.get("name") or f"{meta['generateName']}{len(self.calls)}"
            if name in self.refused:
                raise api_client.ApiError(f"POST {path}", 403, b"no")
            self.calls.append(("create", path))
            self.there[f"{path}/{name}"] = body
            self.changed.notify_all()
            return {"metadata": {"name": name}}

    def raw(self, _method: str, path: str, body: Mapping[str, Any]) -> bytes:
        """Create an object."""
        self.create(path, body)
        return b""

    def delete(self, path: str) -> None:
        """Delete an object."""
        with self.changed:
            self.calls.append(("delete", path))
            del self.there[path]

    def pods(self, namespace: str) -> list[Mapping[str, Any]]:
        """Return the pods of a namespace."""
        start = f"/api/v1/namespaces/{namespace}/pods/"
        return [body for path, body in self.there.items() if path.startswith(start)]

    def create_pods(self, namespace: str, pods: Iterable[Mapping[str, Any]]) -> None:
        """Create pods."""
        for pod in pods:
            self.create(f"/api/v1/namespaces/{namespace}/pods", pod)

    def wait_for(self, count: int, verb: str) -> None:
        """Wait until there were `count` calls."""
        with self.changed:
            assert self.changed.wait_for(
                lambda: sum(call[0] == verb for call in self.calls) >= count, LIMIT_SECONDS
            )


def _client(fake: FakeClient) -> api_client.ApiClient:
    return cast("api_client.ApiClient", fake)


def test_arriving_pods_are_all_sent() -> None:
    """Each pod is created once and has a time, in the order of the pods."""
    fake = FakeClient()
    pods = [manifests.pod(f"p{number}") for number in range(20)]
    arrived = arrivals.send(_client(fake), pods, per_second=2000)
    assert set(arrived.sent) == set(arrived.due) == {f"p{number}" for number in range(20)}
    due = list(arrived.due.values())
    assert due[10] - due[0] == pytest.approx(10 / 2000, abs=1e-6)
    assert arrived.late_p99_ms > 0
    assert len(fake.there) == 20


def test_a_refused_pod_ends_the_run() -> None:
    """A pod that the API server rejects is an error, not a pod that waits for ever."""
    fake = FakeClient()
    fake.refused = {"p1"}
    with pytest.raises(api_client.ApiError):
        arrivals.send(_client(fake), [manifests.pod("p0"), manifests.pod("p1")], per_second=2000)


@pytest.mark.parametrize("mode", ["create", "recreate"])
def test_churn_creates_and_deletes(mode: Any) -> None:
    """`recreate` keeps at most one of each, `create` keeps all; at the end all are deleted."""
    fake = FakeClient()
    bodies: list[dict[str, Any]] = [
        {"kind": "Pod", "metadata": {"generateName": "p-"}, "spec": {}},
        {"kind": "Node", "metadata": {"generateName": "n-"}},
    ]
    wanted = workload_files.Churn(interval_ms=1, mode=mode, objects=bodies)
    with churn.Churning(_client(fake), wanted, "some-scheduler"):
        fake.wait_for(6, "create")
        with fake.changed:
            pods = fake.pods(churn.NAMESPACE)
    assert len(pods) >= 3 if mode == "create" else len(pods) <= 1
    assert {pod["spec"]["schedulerName"] for pod in pods} <= {"some-scheduler"}
    assert fake.there == {}


def test_churn_raises_errors() -> None:
    """An error of the churn thread is raised in the run."""
    fake = FakeClient()
    fake.refused = {"n"}
    wanted = workload_files.Churn(1, "create", [{"kind": "Node", "metadata": {"name": "n"}}])
    churning = churn.Churning(_client(fake), wanted, "")
    with pytest.raises(api_client.ApiError), churning:
        assert churning.ended.wait(LIMIT_SECONDS)


def test_churn_of_an_unknown_kind() -> None:
    """A kind that cannot be created is refused before anything runs."""
    wanted = workload_files.Churn(1, "create", [{"kind": "Secret", "metadata": {}}])
    with pytest.raises(workload_files.FileError, match="cannot create a `Secret`, only Node, Pod"):
        churn.check(wanted)


def test_victims_are_restored() -> None:
    """Before each turn exactly the missing initial pods are created."""
    fake = FakeClient()
    workload = workload_files.load("preemption")
    case = measurements.Case("preemption", nodes=5, pods=1)
    plane = cast("control_plane.ControlPlane", type("Plane", (), {"client": fake}))
    scene = turns.Scene(plane, case, workload)
    scene.restore()
    assert len(fake.there) == 20
    before = dict(fake.there)
    victims = list(fake.there)[3:6]
    for path in victims:
        fake.delete(path)
    calls = len(fake.calls)
    scene.restore()
    assert fake.there == before
    assert len(fake.calls) == calls + 3


@pytest.mark.parametrize(
    "bound, with_events, problem",
    [
        ("ab", "ab", ""),
        ("ab", "abc", ""),
        ("a", "a", "bound 1 of 2 pods; no room"),
        ("ab", "a", "bound 2 pods, but 1 of their events are missing"),
    ],
    ids=["all", "a pod that is gone", "one is not bound", "an event is missing"],
)
def test_one_event_per_pod(bound: str, with_events: str, problem: str) -> None:
    """A run counts if all pods that fit are bound and each of them has its event."""
    events = dict.fromkeys(with_events, 1.0)
    found = turns.describe_unfinished(2, set(bound), events, "no room")
    assert found.startswith(problem) if problem else not found


def test_no_plan_drops_events() -> None:
    """The events of two backlogs of the largest size fit in policysched's queue."""
    compared = [each for name in plans.names() for each in plans.comparisons(plans.load(name))]
    backlogs = {each.case.pods for each in compared if not each.case.arrivals_per_second}
    assert max(backlogs) <= event_recorder.QUEUE_LIMIT / 2


def test_waits_count_from_when_pods_were_due() -> None:
    """An arriving pod waits since it was due, a pod of a backlog since the scheduler's start."""
    times = turns.Times(started=100.0, arrived=arrivals.Arrived({"b": 103.0}, {"b": 103.2}))
    latency = turns.latency({"a": 101.0, "b": 103.5}, times)
    assert latency.max_ms == pytest.approx(1000)
    assert latency.p50_ms == pytest.approx(750)
