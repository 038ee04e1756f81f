"""kube-scheduler and policysched, one after the other, on the same cluster of a real API server.

The score of the placements is the sum, over the pods that a scheduler placed, of what the pod's
node is worth for it with everything else in place: kube-scheduler's own plugins (the oracle) score
it. That sum needs no knowledge of the order in which a scheduler placed the pods. kube-scheduler
without its score plugins, which takes any node that fits, comes to a fifth less.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance import oracle_process
from tests.e2e.checker import comparable, impossible_pods
from tests.e2e.scenes import cluster_dump, scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import kube_scheduler

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Mapping

    from tests.realcluster import api_client

pytestmark = pytest.mark.e2e

LIMIT_SECONDS = 240.0
GATED = "gated"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a scheduler made of the cluster.

    Attributes:
        pending: the message of the condition PodScheduled, by pod.
        notes: all that FailedScheduling events said, by pod.
        scores: what each placed pod's node is worth for it, None where it must not be.
    """

    pending: Mapping[str, str]
    notes: Mapping[str, set[str]]
    scores: Mapping[str, int | None]

    @property
    def total_score(self) -> int:
        """The sum of the scores."""
        return sum(score or 0 for score in self.scores.values())


def _is_settled(client: api_client.ApiClient, made: comparable.Comparable) -> bool:
    """Whether all that fit are bound, and all that do not have been told so."""
    pods = client.pods()
    bound = sum(1 for pod in pods if pod["spec"].get("nodeName"))
    if bound < made.waiting_count + len(made.anchors):
        return False
    impossible = {pod["metadata"]["name"] for pod in made.impossible}
    told = _notes(client, made.namespace).keys() | {GATED}
    return impossible <= told and impossible <= _pending(pods).keys()


def _pending(pods: list[dict[str, Any]]) -> dict[str, str]:
    return {
        pod["metadata"]["name"]: condition["message"]
        for pod in pods
        for condition in pod["status"].get("conditions", [])
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    }


def _notes(client: api_client.ApiClient, namespace: str) -> dict[str, set[str]]:
    notes = collections.defaultdict(set)
    for event in client.items(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"):
        if event["reason"] == "FailedScheduling":
            notes[event["regarding"]["name"]].add(event["note"])
    return dict(notes)


def _outcome(client: api_client.ApiClient, made: comparable.Comparable) -> Outcome:
    with oracle_process.Oracle() as oracle:
        answer = oracle.ask(cluster_dump.read(client), oracle_process.RESCORE)
    anchors = {f"{made.namespace}/{pod['metadata']['name']}" for pod in made.anchors}
    scores = {one["pod"]: one["score"] for one in answer["rescore"] if one["pod"] not in anchors}
    return Outcome(_pending(client.pods()), _notes(client, made.namespace), scores)


def _with_kube_scheduler(
    plane: control_planes.ControlPlane, made: comparable.Comparable, folder: pathlib.Path
) -> Outcome:
    made.create(plane.client)
    settings = {"percentageOfNodesToScore": 100}
    with kube_scheduler.KubeScheduler(plane, folder, settings=settings) as scheduler:
        scheduler.process.wait_until(
            lambda: _is_settled(plane.client, made), time_limit_seconds=LIMIT_SECONDS
        )
    return _outcome(plane.client, made)


def _with_policysched(
    plane: control_planes.ControlPlane, made: comparable.Comparable, folder: pathlib.Path
) -> Outcome:
    made.create(plane.client)
    flags = ("--scheduler-name", comparable.SCHEDULER)
    with scheduler_process.PolicyScheduler(plane, folder, flags=flags) as scheduler:
        scheduler.wait_until(
            lambda: _is_settled(plane.client, made), time_limit_seconds=LIMIT_SECONDS
        )
    return _outcome(plane.client, made)


def test_both_schedulers_come_to_the_same(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """The same pods pend, they are told the same, and the others are placed as well."""
    made = comparable.make(seed=11, namespace=namespace)
    theirs = _with_kube_scheduler(control_plane, made, tmp_path)
    control_plane.clear()
    ours = _with_policysched(control_plane, made, tmp_path)
    assert ours.pending == theirs.pending
    assert ours.notes == theirs.notes
    for name, reason in impossible_pods.reasons().items():
        assert reason in theirs.pending[name], name
    assert ours.scores.keys() == theirs.scores.keys()
    assert len(ours.scores) == made.waiting_count
    # kube-scheduler's filters would let every pod stay where it is.
    assert None not in {*ours.scores.values(), *theirs.scores.values()}
    assert ours.total_score == pytest.approx(theirs.total_score, rel=0.01)
