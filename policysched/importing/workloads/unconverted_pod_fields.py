"""Reports fields of a pod that affect placement but that no policy can express."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.importing.reading import fields
from policysched.importing.result import findings

_SERVED = ("", "default-scheduler", "policysched")
"""schedulerNames without a finding: an operator who adopts policysched changes them anyway."""
_PREEMPTS = "PreemptLowerPriority"
_WHOLE = {
    "priorityClassName": "the priority of a pod",
    "runtimeClassName": "the nodes and the overhead of a RuntimeClass",
    "resourceClaims": "device claims",
    "schedulingGates": "scheduling gates",
    "schedulingGroup": "gangs of pods",
    "workloadRef": "gangs of pods",
}
_STORAGE = (
    "persistentVolumeClaim",
    "ephemeral",
    "awsElasticBlockStore",
    "azureDisk",
    "gcePersistentDisk",
    "iscsi",
    "rbd",
)
"""Kinds of volumes that the volume plugins of kube-scheduler read."""
_CONTAINERS = ("containers", "initContainers")
_NEUTRAL = (
    "activeDeadlineSeconds",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "os",
    "overhead",
    "priority",
    "readinessGates",
    "resources",
    "restartPolicy",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
)
"""Fields that do not select nodes, or that admission sets (`overhead`, `priority`).

Resource requests are also left to the pod.
"""
_STAYS = "it stays in the pod and acts as before"


def report_unconverted_fields(
    spec: fields.StrictFields, *, is_running: bool, served: frozenset[str]
) -> None:
    """Report the fields of a pod for which no rule is written.

    Args:
        spec: the pod spec; all convertible fields have been read.
        is_running: whether the pod is from a running cluster, so a scheduler has set its node.
        served: the schedulerNames of imported profiles.

    Raises:
        InputError: a field has the wrong type.
    """
    _report_node_name(spec, is_running=is_running)
    _report_scheduler_name(spec, served)
    if spec.read_text("preemptionPolicy", _PREEMPTS) != _PREEMPTS:
        _note_unconverted_field(
            spec, spec.locate_field("preemptionPolicy"), "the preemption policy of a pod"
        )
    for name, what in _WHOLE.items():
        if spec.read_value(name):
            _note_unconverted_field(spec, spec.locate_field(name), what)
    for place in _locate_storage_fields(spec):
        _note_unconverted_field(spec, place, "storage")
    for place in _locate_host_ports(spec):
        _note_unconverted_field(spec, place, "host ports")
    spec.skip_fields(*_NEUTRAL)
    spec.report_unread_fields()


def report_claim_templates(owner: fields.StrictFields) -> None:
    """Report the claims that a StatefulSet creates for each of its pods."""
    if owner.read_value("volumeClaimTemplates"):
        _note_unconverted_field(owner, owner.locate_field("volumeClaimTemplates"), "storage")


def _report_node_name(spec: fields.StrictFields, *, is_running: bool) -> None:
    node = spec.read_text("nodeName")
    if node and not is_running:
        field = spec.locate_field("nodeName").dotted_path
        problem = f"`{field}` puts the pods on `{node}` without a scheduler"
        advice = f"remove it, and write `nodeAffinity required nodeName = {node}`"
        spec.report.warn(spec.locate_field("nodeName"), problem, advice)


def _report_scheduler_name(spec: fields.StrictFields, served: frozenset[str]) -> None:
    name = spec.read_text("schedulerName")
    if name not in _SERVED and name not in served:
        field = spec.locate_field("schedulerName").dotted_path
        problem = f"`{field}` leaves the pods to the scheduler `{name}`"
        advice = f"give a profile this name, or run with `--scheduler-name {name}`"
        spec.report.warn(spec.locate_field("schedulerName"), problem, advice)


def _locate_storage_fields(spec: fields.StrictFields) -> Iterator[findings.ValueLocation]:
    for volume in spec.read_objects("volumes"):
        if any(kind in volume.read_all_values() for kind in _STORAGE):
            yield volume.place


def _locate_host_ports(spec: fields.StrictFields) -> Iterator[findings.ValueLocation]:
    for kind in _CONTAINERS:
        for container in spec.read_objects(kind):
            for port in container.read_objects("ports"):
                if port.read_all_values().get("hostPort"):
                    yield port.locate_field("hostPort")
            container.read_all_values()


def _note_unconverted_field(
    given: fields.StrictFields, place: findings.ValueLocation, what: str
) -> None:
    given.report.note(place, f"`{place.dotted_path}`: no policy can express {what}", _STAYS)
