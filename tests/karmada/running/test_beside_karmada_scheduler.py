"""`karmada run` and the real karmada-scheduler on one API server, with twins of every binding."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from typing import TYPE_CHECKING, Any

import pytest

from policysched import clock as clocks
from tests import seeds
from tests.karmada import cases, twins
from tests.realcluster import api_client, karmada, process

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterator

    from tests.e2e.scenes import scheduler_process
    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

LIMIT_SECONDS = 150.0
GENERATED = 40


@contextlib.contextmanager
def _both(
    plane: control_planes.ControlPlane, folder: pathlib.Path
) -> Iterator[scheduler_process.PolicyScheduler]:
    with karmada.KarmadaScheduler(plane, folder), twins.ours(plane, folder) as scheduler:
        yield scheduler


def _wait_until_alike(
    client: api_client.ApiClient,
    scheduler: scheduler_process.PolicyScheduler,
    holds: Callable[[dict[str, Any]], bool],
    *,
    suspended: str = "",
) -> dict[str, Any]:
    """Return what both made of the bindings, once that is the same, and `holds`.

    All of them have been looked at by then, but for the one that is suspended.
    """
    told: dict[str, dict[str, Any]] = {}

    def are_alike() -> bool:
        told.update({name: twins.outcomes(client, name) for name in twins.BOTH})
        ours, theirs = (told[name] for name in twins.BOTH)
        return (
            not twins.differences(ours, theirs)
            and all(name == suspended or twins.is_settled(each) for name, each in theirs.items())
            and holds(theirs)
        )

    try:
        scheduler.wait_until(are_alike, time_limit_seconds=LIMIT_SECONDS)
    except process.ProcessError as error:
        ours, theirs = (told[name] for name in twins.BOTH)
        error.add_note(str(twins.differences(ours, theirs) or f"all are alike: {theirs}"))
        raise
    return told[twins.THEIRS]


def _generated(seed: int) -> list[dict[str, Any]]:
    """Return the clusters of one control plane, and bindings of several."""
    planes = [cases.control_plane(f"{seed}-live-{number}") for number in range(20)]
    clusters = max(
        ([one for one in plane["items"] if one["kind"] == "Cluster"] for plane in planes), key=len
    )
    for one in clusters:
        one["metadata"].pop("deletionTimestamp", None)
        one["metadata"].pop("finalizers", None)
    bindings = [one for plane in planes for one in plane["items"] if one["kind"] != "Cluster"]
    for number, one in enumerate(bindings):
        name = f"app{number}"
        one["spec"]["resource"]["name"] = name
        one["metadata"]["name"] = f"{name}-{one['spec']['resource']['kind'].lower()}"
        one["spec"]["placement"] = _without_empty_lists(one["spec"]["placement"])
    return [*clusters, *bindings]


def _without_empty_lists(part: Any) -> Any:
    """Return a placement as Karmada writes it into a binding: Go leaves out lists without items.

    karmada-scheduler takes a placement with an empty list for changed whenever it looks at it, as
    the annotation that it compares with has none.
    """
    if isinstance(part, dict):
        return {name: _without_empty_lists(one) for name, one in part.items() if one != []}
    return [_without_empty_lists(one) for one in part] if isinstance(part, list) else part


@seeds.drawn
def test_generated_bindings_end_alike(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path, seed: int
) -> None:
    """Clusters, replicas, annotation, status, condition and events of both twins are the same."""
    client = karmada_plane.client
    items = _generated(seed)
    karmada.create_all(client, [one for one in items if one["kind"] == "Cluster"])
    taken: list[dict[str, Any]] = []
    for one in items:
        if one["kind"] != "Cluster" and len(taken) < GENERATED:
            with contextlib.suppress(api_client.ApiError):  # not all that is drawn is valid
                taken += twins.create(client, [one])
    assert len(taken) == GENERATED
    with _both(karmada_plane, tmp_path) as scheduler:
        _wait_until_alike(client, scheduler, lambda told: len(told) >= GENERATED)


def _workloads() -> list[dict[str, Any]]:
    """Return bindings of all strategies, those that fit nowhere, and one for the whole cluster."""
    gold = {"labelSelector": {"matchLabels": {"tier": "gold"}}}
    static = {
        "staticWeightList": [
            {"targetCluster": {"clusterNames": ["member1"]}, "weight": 2},
            {"targetCluster": {"clusterNames": ["member2", "member3"]}, "weight": 1},
        ]
    }
    terms = [
        {"affinityName": "preferred", **gold},
        {"affinityName": "others", "clusterNames": ["member3"]},
    ]
    workloads = [
        twins.binding("duplicated", {}, replicas=2),
        twins.binding("static", twins.divided("Weighted", weightPreference=static), replicas=7),
        twins.binding("dynamic", twins.dynamic(), replicas=10),
        twins.binding("aggregated", twins.divided("Aggregated"), replicas=10),
        twins.binding("config", {}),
        twins.binding("terms", {"clusterAffinities": terms}, replicas=2),
        twins.binding("nowhere", {"clusterAffinity": {"clusterNames": ["gone"]}}, replicas=2),
        twins.binding("too-large", twins.dynamic(), replicas=5000),
    ]
    everywhere = twins.binding("everywhere", {})
    everywhere["kind"] = "ClusterResourceBinding"
    del everywhere["metadata"]["namespace"]
    del everywhere["spec"]["resource"]["namespace"]
    return [*workloads, everywhere]


def _where(told: dict[str, Any], name: str) -> dict[str, int]:
    """Return replicas by cluster."""
    return {one["name"]: one.get("replicas", 0) for one in told[name]["clusters"] or []}


@dataclasses.dataclass
class _Scene:
    """Both schedulers at work on twins of these bindings."""

    client: api_client.ApiClient
    scheduler: scheduler_process.PolicyScheduler
    by_name: dict[str, dict[str, Any]]

    def alike(
        self, holds: Callable[[dict[str, Any]], bool], *, suspended: str = ""
    ) -> dict[str, Any]:
        return _wait_until_alike(self.client, self.scheduler, holds, suspended=suspended)

    def patch(self, name: str, spec: dict[str, Any]) -> None:
        twins.patch(self.client, self.by_name[name], {"spec": spec})

    def patch_cluster(self, name: str, change: dict[str, Any]) -> None:
        self.client.patch(f"{karmada.CLUSTERS}/{name}", change)


def test_both_go_through_the_same_transitions(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Scale, taint, evict, fall back, reschedule, suspend, delete: both end at the same."""
    client = karmada_plane.client
    by_name = {one["metadata"]["name"]: one for one in _workloads()}
    for name, cpu, tier in (
        ("member1", "20", "gold"),
        ("member2", "40", "gold"),
        ("member3", "60", "silver"),
    ):
        karmada.create(client, twins.cluster(name, cpu=cpu, labels={"tier": tier}))
    twins.create(client, by_name.values())
    with _both(karmada_plane, tmp_path) as scheduler:
        scene = _Scene(client, scheduler, by_name)
        told = scene.alike(lambda told: len(told) == len(by_name))
        assert _where(told, "duplicated") == {"member1": 2, "member2": 2, "member3": 2}
        assert sum(_where(told, "dynamic").values()) == 10
        assert told["terms"]["affinity"] == "preferred"
        assert told["nowhere"]["condition"]["reason"] == "NoClusterFit"
        assert told["too-large"]["condition"]["reason"] == "Unschedulable"
        _scale(scene)
        _taint_and_evict(scene)
        _fall_back(scene)
        _reschedule(scene)
        _suspend_and_resume(scene)
        _delete_a_cluster(scene)


def _scale(scene: _Scene) -> None:
    wanted = {"dynamic": 16, "aggregated": 4, "static": 9}
    for name, replicas in wanted.items():
        scene.patch(name, {"replicas": replicas})
    scene.alike(lambda told: all(_count(told, name) == wanted[name] for name in wanted))


def _taint_and_evict(scene: _Scene) -> None:
    """What the taint manager does; what is not evicted stays."""
    taint = {"key": "maintenance", "effect": "NoSchedule"}
    scene.patch_cluster("member1", {"spec": {"taints": [taint]}})
    rest = [{"name": name, "replicas": 2} for name in ("member2", "member3")]
    evicted = [{"fromCluster": "member1", "reason": "TaintUntolerated", "producer": "TaintManager"}]
    scene.patch("duplicated", {"clusters": rest, "gracefulEvictionTasks": evicted})
    told = scene.alike(lambda told: _where(told, "duplicated").keys() == {"member2", "member3"})
    assert "member1" in _where(told, "config")


def _fall_back(scene: _Scene) -> None:
    """The clusters of the first term do not match any more; the next one takes over."""
    silver = {"metadata": {"labels": {"tier": "silver"}}}
    scene.patch_cluster("member1", silver)
    scene.alike(lambda told: _where(told, "terms") == {"member2": 2})
    scene.patch_cluster("member2", silver)
    told = scene.alike(
        lambda told: told["terms"]["affinity"] == "others" and _tells_of_the_first_term(told)
    )
    assert _where(told, "terms") == {"member3": 2}


def _tells_of_the_first_term(told: dict[str, Any]) -> bool:
    return any("clusterAffiliates index(0)" in text for _, _, text in told["terms"]["events"])


def _reschedule(scene: _Scene) -> None:
    """Replicas leave the cluster that is tainted, and only then."""
    told = scene.alike(lambda _: True)
    assert "member1" in _where(told, "dynamic")
    paths = [karmada.path_of(twins.of(scene.by_name["dynamic"], name)) for name in twins.BOTH]
    scheduled = [
        datetime.datetime.fromisoformat(scene.client.get(path)["status"]["lastScheduledTime"])
        for path in paths
    ]
    asked = max(scheduled) + datetime.timedelta(seconds=1)
    # A decision of an earlier second than the one asked for would not answer it.
    scene.alike(lambda _: clocks.SystemClock().now() >= asked)
    scene.patch("dynamic", {"rescheduleTriggeredAt": asked.strftime("%Y-%m-%dT%H:%M:%SZ")})
    scene.alike(lambda told: _where(told, "dynamic") != {} and _is_rescheduled(scene, paths, asked))


def _is_rescheduled(scene: _Scene, paths: list[str], asked: datetime.datetime) -> bool:
    return all(
        datetime.datetime.fromisoformat(scene.client.get(path)["status"]["lastScheduledTime"])
        >= asked
        for path in paths
    )


def _suspend_and_resume(scene: _Scene) -> None:
    scene.patch("aggregated", {"suspension": {"scheduling": True}, "replicas": 8})
    scene.patch("static", {"replicas": 3})
    told = scene.alike(lambda told: _count(told, "static") == 3, suspended="aggregated")
    assert _count(told, "aggregated") == 4
    scene.patch("aggregated", {"suspension": None})
    scene.alike(lambda told: _count(told, "aggregated") == 8)


def _delete_a_cluster(scene: _Scene) -> None:
    """A cluster that is being deleted is left by all that were there."""
    scene.patch_cluster("member2", {"metadata": {"finalizers": ["test/keep"]}})
    scene.client.delete(f"{karmada.CLUSTERS}/member2")
    told = scene.alike(
        lambda told: all("member2" not in _where(told, name) for name in scene.by_name)
    )
    assert _count(told, "dynamic") == 16


def _count(told: dict[str, Any], name: str) -> int:
    return sum(_where(told, name).values())
