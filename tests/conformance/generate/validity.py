"""What a default API server insists on: put right after all shapes have had their say.

Sources: `pkg/apis/core/validation/validation.go`, `pkg/apis/storage/validation/validation.go`.
`test_generator.py` asks kube-apiserver's own validation about the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.generate import cluster, draw

Manifest = cluster.Manifest

_SMALL = {"cpu": ("0", "1m", "10m"), "memory": ("0", "1", "1Mi", "1100m")}
"""Requests of containers whose pod says how much all of them need."""
_ENOUGH = {"cpu": ("100m", "250m", "0.3", "1", "1500m", "3"), "memory": ("64Mi", "500M", "1536Mi")}
_TINY = ("1500u", "100n")
_HUGE = "hugepages-"
_EVERYTHING = 0.3
"""How many of the lenient objects stay as they are."""


def mend(found: cluster.Cluster) -> None:
    """Make the objects valid; some of them stay as they are where `invalid` allows it."""
    source = found.draw
    for pod in found.pods:
        if not source.invalid(_EVERYTHING):
            _pod(source, pod["spec"])
    for volume in found.others:
        if volume["kind"] == "PersistentVolume" and not source.invalid(_EVERYTHING):
            _volume(volume)


def _pod(source: draw.Draw, spec: Manifest) -> None:
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    _ports(spec, containers)
    if "resources" in spec:
        _pod_level(source, spec["resources"], containers)
    for container in containers:
        _limit(source, container.get("resources", {}))
    if spec.get("hostNetwork"):
        spec.pop("hostUsers", None)
    for constraint in spec.get("topologySpreadConstraints", ()):
        _label_keys(constraint)
    for volume in spec.get("volumes", ()):
        if "azureDisk" in volume:
            volume["azureDisk"].setdefault("kind", "Managed")
    for term in _node_terms(spec):
        _label_values(term)


# --- ports ---------------------------------------------------------------------------------------


def _ports(spec: Manifest, containers: list[Manifest]) -> None:
    """Claim each host port once; on the host's network it is that of the container."""
    claimed = set()
    for container in containers:
        kept = []
        for port in container.get("ports", ()):
            if spec.get("hostNetwork"):
                port["hostPort"] = port["containerPort"]
            key = (port.get("protocol"), port.get("hostIP"), port.get("hostPort"))
            if key not in claimed:
                kept.append(port)
            if port.get("hostPort"):
                claimed.add(key)
        if "ports" in container:
            container["ports"] = kept


# --- resources -----------------------------------------------------------------------------------


def _limit(source: draw.Draw, resources: Manifest) -> None:
    """Limit what must not be overcommitted to what is requested, and requests to limits."""
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name in list(requests):
        if name in limits or not _is_overcommitted(name):
            limits[name] = requests[name]
    for name in list(requests):
        if not _is_overcommitted(name) and source.chance(0.3):
            del requests[name]  # they default to limits
    _accompany_huge_pages(resources, limits)
    if limits:
        resources["limits"] = limits


def _pod_level(source: draw.Draw, resources: Manifest, containers: list[Manifest]) -> None:
    """Let the pod request at least as much as its containers together."""
    requests = resources["requests"]
    huge = {name: amount for name, amount in requests.items() if name.startswith(_HUGE)}
    _accompany_huge_pages(resources, huge)
    requests = resources["requests"]
    are_small = source.chance(0.7)
    for container in containers:
        for amounts in container.get("resources", {}).values():
            for name in list(amounts):
                if name in requests or (name.startswith(_HUGE) and not are_small):
                    del amounts[name]
                elif amounts[name] in _TINY:  # they do not add up to what the pod defaults to
                    amounts[name] = "2m"
        if are_small and container.get("resources", {}).get("requests"):
            small = {name: source.pick(_SMALL[name]) for name in requests if name in _SMALL}
            container["resources"]["requests"] |= small
    if are_small:
        requests |= {name: source.pick(_ENOUGH[name]) for name in requests if name in _ENOUGH}
    if huge:
        resources["limits"] = huge


def _accompany_huge_pages(resources: Manifest, limits: Manifest) -> None:
    """Request cpu where nothing but huge pages is asked for."""
    requests = resources.get("requests", {})
    asked = {*requests, *limits}
    if any(name.startswith(_HUGE) for name in asked) and not asked & {"cpu", "memory"}:
        resources["requests"] = {**requests, "cpu": "1m"}


def _is_overcommitted(name: str) -> bool:
    is_native = "/" not in name or "kubernetes.io/" in name
    return is_native and not name.startswith(_HUGE)


# --- selectors -----------------------------------------------------------------------------------


def _label_keys(constraint: Manifest) -> None:
    """Name no label both in the selector and in `matchLabelKeys`."""
    selector = constraint.get("labelSelector", {})
    used = {e["key"] for e in selector.get("matchExpressions", ())}
    used |= set(selector.get("matchLabels", ()))
    keys = [key for key in constraint.pop("matchLabelKeys", ()) if key not in used]
    if keys:
        constraint["matchLabelKeys"] = keys


def _node_terms(spec: Manifest) -> Iterator[Manifest]:
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    yield from required.get("nodeSelectorTerms", ())
    for preferred in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
        yield preferred["preference"]


def _label_values(term: Manifest) -> None:
    """Ask for nothing that is no value of a label."""
    for expression in term.get("matchExpressions", ()):
        if expression["operator"] == "In":
            expression["values"] = [v.strip("!").replace(" ", "-") for v in expression["values"]]


# --- volumes -------------------------------------------------------------------------------------


def _volume(volume: Manifest) -> None:
    spec, metadata = volume["spec"], volume["metadata"]
    if "csi" not in spec:
        spec.pop("volumeAttributesClassName", None)
    if "local" in spec and not spec.get("nodeAffinity"):
        place = {"key": cluster.HOSTNAME, "operator": "Exists"}
        terms = [{"matchExpressions": [place]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    for key, value in metadata.get("labels", {}).items():
        metadata["labels"][key] = value.rstrip("_")
