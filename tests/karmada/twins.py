"""Bindings that differ only in who schedules them, and what both schedulers made of them."""

from __future__ import annotations

import collections
import copy
import json
import re
import sys
from typing import TYPE_CHECKING, Any

from tests.e2e.scenes import scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import karmada

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable, Sequence

    from tests.realcluster import api_client

Object = dict[str, Any]

OURS, THEIRS = "policysched", karmada.SCHEDULER_NAME
BOTH = (OURS, THEIRS)
LABELS = {"propagationpolicy.karmada.io/permanent-id": "x"}
APPLIED = "policy.karmada.io/applied-placement"
_MERGED = "(combined from similar events): "
FLAGS = (
    "--leader-elect=false",
    "--kube-api-qps=-1",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
)


def ours(
    plane: control_planes.ControlPlane,
    folder: pathlib.Path,
    flags: Sequence[str] = (),
    *,
    user: str = control_planes.ADMIN,
) -> scheduler_process.PolicyScheduler:
    """Return a `policysched karmada run` that is not started yet, and speaks as `user`."""
    program = (sys.executable, "-m", "policysched", "karmada")
    said = ["--scheduler-name", OURS, *FLAGS, *flags]
    return scheduler_process.PolicyScheduler(plane, folder, flags=said, user=user, program=program)


def cluster(name: str, *, cpu: str = "100", pods: str = "1000", **spec: Any) -> Object:
    """Return a cluster that serves Deployments and ConfigMaps; `labels` go to its metadata."""
    kinds = (("apps/v1", "Deployment"), ("v1", "ConfigMap"))
    labels = spec.pop("labels", {})
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name, "labels": labels},
        "spec": {"syncMode": "Push"} | spec,
        "status": {
            "apiEnablements": [
                {"groupVersion": version, "resources": [{"name": kind.lower(), "kind": kind}]}
                for version, kind in kinds
            ],
            "resourceSummary": {"allocatable": {"cpu": cpu, "memory": "1Ti", "pods": pods}},
        },
    }


def binding(name: str, placement: Object, replicas: int = 0, **spec: Any) -> Object:
    """Return a ResourceBinding of a Deployment, or of a ConfigMap where there are no replicas."""
    version, kind = ("apps/v1", "Deployment") if replicas else ("v1", "ConfigMap")
    resource = {
        "apiVersion": version,
        "kind": kind,
        "namespace": "default",
        "name": name,
        "uid": f"uid-of-{name}",
    }
    said: Object = {"resource": resource, "placement": placement}
    if replicas:
        said["replicas"] = replicas
        said["replicaRequirements"] = {"resourceRequest": {"cpu": "1"}}
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "default", "labels": LABELS},
        "spec": said | spec,
    }


def divided(preference: str, **more: Any) -> Object:
    """Return a replicaScheduling that divides."""
    return {
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": preference,
        }
        | more
    }


def dynamic() -> Object:
    """Return a replicaScheduling that divides by free capacity."""
    return divided("Weighted", weightPreference={"dynamicWeight": "AvailableReplicas"})


def of(item: Object, scheduler: str) -> Object:
    """Return the twin of a binding that a scheduler is to place."""
    twin = copy.deepcopy(item)
    twin["metadata"]["name"] = f"{scheduler}-{item['metadata']['name']}"
    twin["spec"]["schedulerName"] = scheduler
    return twin


def create(client: api_client.ApiClient, items: Iterable[Object]) -> list[Object]:
    """Create both twins of each binding; return those that the API server takes."""
    taken = []
    for item in items:
        for scheduler in BOTH:
            karmada.create(client, of(item, scheduler))
        taken.append(item)
    return taken


def patch(client: api_client.ApiClient, item: Object, change: Object) -> None:
    """Change both twins of a binding."""
    for scheduler in BOTH:
        client.patch(karmada.path_of(of(item, scheduler)), change)


def outcomes(client: api_client.ApiClient, scheduler: str) -> dict[str, Object]:
    """Return what a scheduler has written about each of its bindings, and told, by name."""
    events = _events(client, scheduler)
    found = {}
    for path in (karmada.BINDINGS, karmada.CLUSTER_BINDINGS):
        for item in client.items(path):
            name = item["metadata"]["name"]
            if name.startswith(f"{scheduler}-"):
                found[name.removeprefix(f"{scheduler}-")] = _outcome(item, events)
    return found


def differences(ours: dict[str, Object], theirs: dict[str, Object]) -> list[str]:
    """Return what differs between what two schedulers have written and told."""
    if ours.keys() != theirs.keys():
        return [f"{sorted(ours)} instead of {sorted(theirs)}"]
    return [
        f"{name}: {field}: {ours[name][field]} instead of {theirs[name][field]}"
        for name in theirs
        for field in theirs[name]
        if not _agree(ours[name][field], theirs[name][field])
    ]


def _agree(ours: Any, theirs: Any) -> bool:
    """Return whether a field is the same; events may be more than those of Karmada.

    client-go (`tools/record/events_cache.go`, EventAggregator) merges what is told about an object
    after nine different events of one type and reason, and shows the last of these alone.
    """
    if ours == theirs or not isinstance(theirs, list):
        return bool(ours == theirs)
    merged = [each for each in theirs if isinstance(each, tuple) and each[2].startswith(_MERGED)]
    told = {(kind, reason, text.removeprefix(_MERGED)) for kind, reason, text in merged}
    return bool(merged) and told | {each for each in theirs if each not in merged} <= set(ours)


def is_settled(outcome: Object) -> bool:
    """Say whether the newest generation has been looked at; failures do not say which they saw."""
    condition = outcome["condition"]
    return condition is not None and (condition["status"] == "False" or outcome["is confirmed"])


def _outcome(item: Object, events: dict[tuple[str, str], set[tuple[str, str, str]]]) -> Object:
    status, spec = item.get("status", {}), item["spec"]
    is_divided = (
        spec["placement"].get("replicaScheduling", {}).get("replicaSchedulingType") == "Divided"
    )
    clusters = spec.get("clusters")
    if clusters and is_divided:  # their order is random at Karmada
        clusters = sorted(clusters, key=lambda target: target["name"])
    applied = item["metadata"].get("annotations", {}).get(APPLIED)
    resource = spec["resource"]
    return {
        "clusters": clusters,
        "applied": json.loads(applied) if applied else None,
        "affinity": status.get("schedulerObservingAffinityName"),
        "is confirmed": status.get("schedulerObservedGeneration") == item["metadata"]["generation"],
        "has been scheduled": "lastScheduledTime" in status,
        "condition": _condition(status),
        "events": _normal_events(events[item["kind"], item["metadata"]["name"]], is_divided),
        "template": resource["name"],
        "events of the template": _normal_events(
            events[resource["kind"], resource["name"]], is_divided
        ),
    }


def _condition(status: Object) -> Object | None:
    for condition in status.get("conditions", []):
        if condition["type"] == "Scheduled":
            said = {field: condition[field] for field in ("status", "reason", "message")}
            return said | {"message": _normal_text(said["message"])}
    return None


def _events(
    client: api_client.ApiClient, scheduler: str
) -> dict[tuple[str, str], set[tuple[str, str, str]]]:
    """Return (type, reason, message) of all events of a scheduler, by kind and name."""
    found = collections.defaultdict(set)
    for event in client.items("/api/v1/events"):
        if event["source"].get("component") == scheduler:
            about = event["involvedObject"]
            said = (event["type"], event["reason"], event["message"])
            found[about["kind"], about["name"]].add(said)
    return found


def _normal_events(
    events: set[tuple[str, str, str]], is_divided: bool
) -> list[tuple[str, str, str]]:
    normal = {(kind, reason, _normal_text(text)) for kind, reason, text in events}
    if is_divided:
        normal = {(kind, reason, _normal_result(text)) for kind, reason, text in normal}
    return sorted(normal)


def _normal_result(text: str) -> str:
    """Return a text with its clusters in order."""
    head, brace, rest = text.partition("{")
    if not brace or "Result" not in head:
        return text
    return f"{head}{{{', '.join(sorted(rest.rstrip('}').split(', ')))}}}"


def _normal_text(text: str) -> str:
    """Return a text without what is random at Karmada, and without the name of the twin.

    Which of several filters tells its reason about a cluster is random; their number is not.
    """
    text = re.sub(rf"\b({OURS}|{THEIRS})-", "", text)
    head, found, reasons = text.partition("clusters are available: ")
    if not found or reasons.startswith("no cluster"):
        return text
    return f"{head}{found}{sum(int(n) for n in re.findall(r'(?:^|, )([0-9]+) ', reasons))}"
