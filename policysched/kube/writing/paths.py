"""Paths of the resources that this program writes, relative to the server's base URL."""

from __future__ import annotations

import urllib.parse

_KARMADA_WORK = "/apis/work.karmada.io/v1alpha2"


def format_pod_path(namespace: str, name: str) -> str:
    """Return the path of a pod."""
    return f"/api/v1/namespaces/{_quote_path_segment(namespace)}/pods/{_quote_path_segment(name)}"


def format_pod_binding_path(namespace: str, name: str) -> str:
    """Return the path of a pod's binding subresource."""
    return format_pod_path(namespace, name) + "/binding"


def format_pod_status_path(namespace: str, name: str) -> str:
    """Return the path of a pod's status subresource."""
    return format_pod_path(namespace, name) + "/status"


def format_pod_eviction_path(namespace: str, name: str) -> str:
    """Return the path of a pod's eviction subresource."""
    return format_pod_path(namespace, name) + "/eviction"


def format_events_path(namespace: str) -> str:
    """Return the path of a namespace's events in events.k8s.io/v1."""
    return f"/apis/events.k8s.io/v1/namespaces/{_quote_path_segment(namespace)}/events"


def format_event_path(namespace: str, name: str) -> str:
    """Return the path of an event in events.k8s.io/v1."""
    return f"{format_events_path(namespace)}/{_quote_path_segment(name)}"


def format_core_events_path(namespace: str) -> str:
    """Return the path of a namespace's events in core/v1."""
    return f"/api/v1/namespaces/{_quote_path_segment(namespace)}/events"


def format_core_event_path(namespace: str, name: str) -> str:
    """Return the path of an event in core/v1."""
    return f"{format_core_events_path(namespace)}/{_quote_path_segment(name)}"


def format_resource_binding_path(namespace: str, name: str) -> str:
    """Return the path of a Karmada ResourceBinding."""
    folder = f"{_KARMADA_WORK}/namespaces/{_quote_path_segment(namespace)}"
    return f"{folder}/resourcebindings/{_quote_path_segment(name)}"


def format_cluster_binding_path(name: str) -> str:
    """Return the path of a Karmada ClusterResourceBinding."""
    return f"{_KARMADA_WORK}/clusterresourcebindings/{_quote_path_segment(name)}"


def format_config_maps_path(namespace: str) -> str:
    """Return the path of a namespace's ConfigMaps."""
    return f"/api/v1/namespaces/{_quote_path_segment(namespace)}/configmaps"


def format_config_map_path(namespace: str, name: str) -> str:
    """Return the path of a ConfigMap."""
    return f"{format_config_maps_path(namespace)}/{_quote_path_segment(name)}"


def format_service_path(namespace: str, name: str) -> str:
    """Return the path of a Service."""
    return (
        f"/api/v1/namespaces/{_quote_path_segment(namespace)}/services/{_quote_path_segment(name)}"
    )


def format_volume_path(name: str) -> str:
    """Return the path of a PersistentVolume."""
    return f"/api/v1/persistentvolumes/{_quote_path_segment(name)}"


def format_claim_path(namespace: str, name: str) -> str:
    """Return the path of a PersistentVolumeClaim."""
    folder = f"/api/v1/namespaces/{_quote_path_segment(namespace)}"
    return f"{folder}/persistentvolumeclaims/{_quote_path_segment(name)}"


def format_resource_claim_path(namespace: str, name: str) -> str:
    """Return the path of a ResourceClaim."""
    return f"{format_resource_claims_path(namespace)}/{_quote_path_segment(name)}"


def format_resource_claims_path(namespace: str) -> str:
    """Return the path of a namespace's ResourceClaims."""
    return f"/apis/resource.k8s.io/v1/namespaces/{_quote_path_segment(namespace)}/resourceclaims"


def _quote_path_segment(name: str) -> str:
    return urllib.parse.quote(name, safe="")
