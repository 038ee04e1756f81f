"""Fields of a pod that bear on placement and that no policy can express: they stay in the pod."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.importing.reading import fields
from policysched.importing.result import findings

_SERVED = ("", "default-scheduler", "policysched")
"""Names that need no finding: an operator who adopts policysched changes them anyway."""
_PREEMPTS = "PreemptLowerPriority"
_WHOLE = {
    "priorityClassName": "the priority of a pod",
    "runtimeClassName": "the nodes and the overhead of a RuntimeClass",
    "resourceClaims": "claims of devices",
    "schedulingGates": "scheduling gates",
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
"""Fields that choose no node, or that admission sets: `overhead`, `priority`. Requests stay too."""
_STAYS = "it stays in the pod and acts as before"


def report_left(spec: fields.StrictFields, *, is_running: bool, served: frozenset[str]) -> None:
    """Report the fields of a pod that nothing is written for.

    Args:
        spec: the pod's, of which everything else was taken.
        is_running: whether the manifest is that of a pod in a cluster, whose node a scheduler set.
        served: schedulerNames of imported profiles.

    Raises:
        InputError: a field has the wrong type.
    """
    _report_node(spec, is_running=is_running)
    _report_scheduler(spec, served)
    if spec.text("preemptionPolicy", _PREEMPTS) != _PREEMPTS:
        _note(spec, spec.locate_field("preemptionPolicy"), "the preemption policy of a pod")
    for name, what in _WHOLE.items():
        if spec.read_value(name):
            _note(spec, spec.locate_field(name), what)
    for place in _storage_places(spec):
        _note(spec, place, "storage")
    for place in _host_port_places(spec):
        _note(spec, place, "ports of the node")
    spec.skip(*_NEUTRAL)
    spec.finish()


def report_claim_templates(owner: fields.StrictFields) -> None:
    """Report the claims that a StatefulSet makes for each of its pods."""
    if owner.read_value("volumeClaimTemplates"):
        _note(owner, owner.locate_field("volumeClaimTemplates"), "storage")


def _report_node(spec: fields.StrictFields, *, is_running: bool) -> None:
    node = spec.text("nodeName")
    if node and not is_running:
        problem = (
            f"`{spec.locate_field('nodeName').name}` puts the pods on `{node}` without a scheduler"
        )
        advice = f"remove it, and write `nodeAffinity required nodeName = {node}`"
        spec.report.warn(spec.locate_field("nodeName"), problem, advice)


def _report_scheduler(spec: fields.StrictFields, served: frozenset[str]) -> None:
    name = spec.text("schedulerName")
    if name not in _SERVED and name not in served:
        problem = (
            f"`{spec.locate_field('schedulerName').name}` leaves the pods to the scheduler `{name}`"
        )
        advice = f"give a profile this name, or run with `--scheduler-name {name}`"
        spec.report.warn(spec.locate_field("schedulerName"), problem, advice)


def _storage_places(spec: fields.StrictFields) -> Iterator[findings.ValueLocation]:
    for volume in spec.objects("volumes"):
        if any(kind in volume.plain() for kind in _STORAGE):
            yield volume.place


def _host_port_places(spec: fields.StrictFields) -> Iterator[findings.ValueLocation]:
    for kind in _CONTAINERS:
        for container in spec.objects(kind):
            for port in container.objects("ports"):
                if port.plain().get("hostPort"):
                    yield port.locate_field("hostPort")
            container.plain()


def _note(given: fields.StrictFields, place: findings.ValueLocation, what: str) -> None:
    given.report.note(place, f"`{place.name}`: no policy can express {what}", _STAYS)
