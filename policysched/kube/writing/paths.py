"""Paths of the resources that we write to, below the server's base URL."""

from __future__ import annotations

import urllib.parse

_KARMADA_WORK = "/apis/work.karmada.io/v1alpha2"


def pod(namespace: str, name: str) -> str:
    """Return the path of a pod."""
    return f"/api/v1/namespaces/{_segment(namespace)}/pods/{_segment(name)}"


def pod_binding(namespace: str, name: str) -> str:
    """Return the path of a pod's binding subresource."""
    return pod(namespace, name) + "/binding"


def pod_status(namespace: str, name: str) -> str:
    """Return the path of a pod's status subresource."""
    return pod(namespace, name) + "/status"


def events(namespace: str) -> str:
    """Return the path of a namespace's events."""
    return f"/apis/events.k8s.io/v1/namespaces/{_segment(namespace)}/events"


def event(namespace: str, name: str) -> str:
    """Return the path of an event."""
    return f"{events(namespace)}/{_segment(name)}"


def core_events(namespace: str) -> str:
    """Return the path of a namespace's events in the form of core/v1."""
    return f"/api/v1/namespaces/{_segment(namespace)}/events"


def core_event(namespace: str, name: str) -> str:
    """Return the path of an event in the form of core/v1."""
    return f"{core_events(namespace)}/{_segment(name)}"


def resource_binding(namespace: str, name: str) -> str:
    """Return the path of a ResourceBinding of Karmada."""
    return f"{_KARMADA_WORK}/namespaces/{_segment(namespace)}/resourcebindings/{_segment(name)}"


def cluster_resource_binding(name: str) -> str:
    """Return the path of a ClusterResourceBinding of Karmada."""
    return f"{_KARMADA_WORK}/clusterresourcebindings/{_segment(name)}"


def config_maps(namespace: str) -> str:
    """Return the path of a namespace's ConfigMaps."""
    return f"/api/v1/namespaces/{_segment(namespace)}/configmaps"


def config_map(namespace: str, name: str) -> str:
    """Return the path of a ConfigMap."""
    return f"{config_maps(namespace)}/{_segment(name)}"


def service(namespace: str, name: str) -> str:
    """Return the path of a Service."""
    return f"/api/v1/namespaces/{_segment(namespace)}/services/{_segment(name)}"


def persistent_volume(name: str) -> str:
    """Return the path of a PersistentVolume."""
    return f"/api/v1/persistentvolumes/{_segment(name)}"


def persistent_volume_claim(namespace: str, name: str) -> str:
    """Return the path of a PersistentVolumeClaim."""
    return f"/api/v1/namespaces/{_segment(namespace)}/persistentvolumeclaims/{_segment(name)}"


def _segment(name: str) -> str:
    return urllib.parse.quote(name, safe="")
