"""`run --dry-run` beside the real kube-scheduler: it agrees, and it has no right to write."""

from __future__ import annotations

import dataclasses
import signal
from typing import TYPE_CHECKING, Any

import pytest
import urllib3
from prometheus_client import parser

from tests.e2e.scenes import scheduler_process, workload
from tests.realcluster import control_plane as control_planes
from tests.realcluster import kube_scheduler, manifests, process

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import api_client

pytestmark = pytest.mark.e2e

SCHEDULER = "default-scheduler"
LIMIT_SECONDS = 240.0
READ_ONLY = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
ALONE = 30
"""Pods that come one by one, so that all is bound that kube-scheduler knew of."""
AGREEING = ("sameNode", "equalNode")


def _counted(url: str) -> dict[tuple[str, str], float]:
    """Return (metric, outcome) → value of what a dry run tells."""
    try:
        answer = urllib3.request("GET", f"{url}/metrics", retries=False, timeout=60)
    except urllib3.exceptions.HTTPError:
        return {}
    return {
        (sample.name, sample.labels["outcome"]): sample.value
        for family in parser.text_string_to_metric_families(answer.data.decode())
        for sample in family.samples
        if sample.name.startswith("policysched_dry_run_") and "outcome" in sample.labels
    }


def _placed(url: str) -> dict[str, float]:
    found = _counted(url)
    return {o: n for (name, o), n in found.items() if name == "policysched_dry_run_pods_total"}


def _wait_for(ours: scheduler_process.PolicyScheduler, url: str, count: int) -> None:
    """Return once so many pods have been compared."""
    ours.wait_until(lambda: sum(_placed(url).values()) == count, time_limit_seconds=LIMIT_SECONDS)


def _leases(client: api_client.ApiClient) -> list[dict[str, Any]]:
    """Return all but those of API servers, which these renew."""
    found = client.items("/apis/coordination.k8s.io/v1/leases")
    return [one for one in found if not one["metadata"]["name"].startswith("apiserver-")]


def _events(client: api_client.ApiClient) -> list[dict[str, Any]]:
    return client.items("/apis/events.k8s.io/v1/events")


def _is_ready(url: str, name: str) -> bool:
    """Whether the dry run has seen a pod that nobody placed: from then on it compares."""
    return _counted(url).get(("policysched_dry_run_pending_pods", name), 0) == 1


def test_it_agrees_with_kube_scheduler_and_writes_nothing(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """With rights to read only it decides nearly every pod as kube-scheduler does."""
    client = control_plane.client
    made = workload.without_policies(7, scheduler_name=SCHEDULER, nodes=60, pods=300)
    made.create_cluster(client)
    control_plane.grant("scheduler", READ_ONLY)
    leases = _leases(client)
    former_events = {event["metadata"]["uid"] for event in _events(client)}
    large = manifests.pod("large", requests={"cpu": "4000"}, scheduler_name=SCHEDULER)
    address = f"127.0.0.1:{process.free_port()}"
    url = f"http://{address}"
    ours = scheduler_process.PolicyScheduler(
        control_plane,
        tmp_path,
        flags=("--dry-run", "--scheduler-name", SCHEDULER, "--metrics-address", address),
        user="scheduler",
    )
    with kube_scheduler.KubeScheduler(control_plane, tmp_path), ours:
        client.create_pods(namespace, [large])
        ours.wait_until(lambda: _is_ready(url, "bothPending"), time_limit_seconds=LIMIT_SECONDS)
        one_by_one, at_once = made.pods[:ALONE], made.pods[ALONE:]
        for number, pod in enumerate(one_by_one, start=1):
            client.create_pods(pod["metadata"]["namespace"], [pod])
            _wait_for(ours, url, number)
        alone = _placed(url)
        dataclasses.replace(made, pods=at_once).create_pods(client)
        _wait_for(ours, url, len(made.pods))
        placed = _placed(url)
        ours.process.signal(signal.SIGTERM)
        assert ours.process.wait(30.0) == 0
    agreed = sum(placed.get(outcome, 0) for outcome in AGREEING)
    log = (tmp_path / "policysched.log").read_text(encoding="utf-8")
    assert sum(alone.get(outcome, 0) for outcome in AGREEING) >= 0.95 * ALONE, alone
    assert agreed + placed.get("nearNode", 0) >= 0.95 * len(made.pods), placed
    assert placed.get("leftPending", 0) == placed.get("failed", 0) == 0
    assert f"dry run: agrees on {agreed:,.0f} of {len(made.pods):,} placed pods" in log
    assert "forbidden" not in log.lower()
    assert _leases(client) == leases
    events = [event for event in _events(client) if event["metadata"]["uid"] not in former_events]
    assert {event["reportingController"] for event in events} == {SCHEDULER}
