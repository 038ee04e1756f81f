"""What kube-apiserver does to pods before a scheduler sees them, as far as scheduling reads it.

Sources: `pkg/apis/core/v1/defaults.go`, `pkg/registry/core/pod/strategy.go`.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.conformance.generate import cluster

Manifest = cluster.Manifest
_AFFINITY_KEYS = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


def pod(manifest: Manifest) -> None:
    """Fill in what is left out, and merge label keys into selectors."""
    spec = manifest["spec"]
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        _container(container, is_host_network=bool(spec.get("hostNetwork")))
    if "resources" in spec:
        _pod_level(spec)
    labels = manifest["metadata"].get("labels", {})
    for constraint in spec.get("topologySpreadConstraints", ()):
        constraint.setdefault("nodeAffinityPolicy", "Honor")
        constraint.setdefault("nodeTaintsPolicy", "Ignore")
        _merge(constraint, constraint.get("matchLabelKeys", ()), "In", labels)
    for term in _terms(spec.get("affinity", {})):
        for field, operator in _AFFINITY_KEYS:
            _merge(term, term.get(field, ()), operator, labels)


def _container(container: Manifest, *, is_host_network: bool) -> None:
    """Default requests to limits, and host ports to those of the container."""
    resources = container.setdefault("resources", {})
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if is_host_network:
            port["hostPort"] = port["containerPort"]


def _pod_level(spec: Manifest) -> None:
    """Default requests of the pod to its limits."""
    resources = spec["resources"]
    requests = resources.get("requests", {})
    if resources.get("limits"):
        requests = {**resources["limits"], **requests}
    resources["requests"] = requests


def _merge(owner: Manifest, keys: Iterable[str], operator: str, labels: Manifest) -> None:
    selector = owner.get("labelSelector")
    if selector is None:
        return
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels
    ]
    if added:
        selector["matchExpressions"] = [*selector.get("matchExpressions", []), *added]


def _terms(affinity: Manifest) -> Iterable[Manifest]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind, {})
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution", ())
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
            yield weighted["podAffinityTerm"]
