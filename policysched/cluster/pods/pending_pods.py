"""Make placed pods pending, for decisions about them as if they were created again."""

from __future__ import annotations

import msgspec

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape

_MIRROR = "kubernetes.io/config.mirror"
"""The annotation of static pods, which the kubelet runs without a scheduler."""


def make_pending_pod(info: pod_shape.PodInfo) -> pod_shape.PodInfo:
    """Return a placed pod as a pending pod."""
    return pod_shape.PodInfo(remove_node_from_pod(info.pod), info.shape)


def remove_node_from_pod(pod: objects.Pod) -> objects.Pod:
    """Return a pod without its node and its nomination."""
    spec = msgspec.structs.replace(pod.spec, node_name="")
    said = msgspec.structs.replace(pod.status, nominated_node_name="")
    return msgspec.structs.replace(pod, spec=spec, status=said)


def would_be_scheduled(info: pod_shape.PodInfo) -> bool:
    """Return whether a scheduler would place a running pod if it were created again."""
    return not info.is_terminating and not is_mirror_pod(info)


def is_mirror_pod(info: pod_shape.PodInfo) -> bool:
    """Return whether a pod is the mirror of a static pod."""
    return _MIRROR in info.pod.metadata.annotations
