"""Devices for pods, by claims and as extended resources: DynamicResources, NodeResourcesFit.

Left out is what kube-scheduler 1.36.3 decides by a known fault: a pod with claims whose extended
resources a device plugin provides on its node, a pod that names the same claim twice, which can
never be bound, implicit names of classes that share their explicit one, and scores that count
devices of changed attributes, or balance devices that a class selects.
"""

from __future__ import annotations

import random

from tests.conformance.generate import (
    cluster,
    device_claims,
    device_slices,
    draw,
    node_affinity,
    resources,
    taints,
)
from tests.devices import generate, generate_slices

Manifest = cluster.Manifest

_GPU, _NIC = "example.com/gpu", "example.com/nic"
_IMPLICIT = "deviceclass.resource.kubernetes.io/"
_ANY = f"{_IMPLICIT}any"
_SCORED = ("cpu", _GPU, _NIC, _ANY)
_UNMAPPED = "example.com/unmapped"
_CREATED = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")


def shape(found: cluster.Cluster) -> None:
    """Publish devices on nodes, and let pods claim them; other plugins also decide."""
    _shape(found, {"claims": 9, "": 1})


def shape_extended(found: cluster.Cluster) -> None:
    """Let pods also request devices as extended resources, which device plugins can provide."""
    _shape(found, {"claims": 2, "extended": 5, "both": 2, "": 0.5})


def shape_scored(found: cluster.Cluster) -> None:
    """Let scores count devices as extended resources."""
    shape_extended(found)
    source = found.draw
    strategy = resources.make_strategy(source, lambda: source.some(_SCORED, 1, 3))
    found.plugin_config["NodeResourcesFit"] = {"scoringStrategy": strategy}
    if source.chance(0.5):
        # For a class with selectors, kube-scheduler crashes.
        balanced = [{"name": name} for name in ("cpu", "memory", _ANY)]
        found.plugin_config["NodeResourcesBalancedAllocation"] = {"resources": balanced}
    _let_devices_keep_attributes(found)


def _let_devices_keep_attributes(found: cluster.Cluster) -> None:
    """Give devices of one name the same attributes in all slices of a pool.

    kube-scheduler keeps which devices a class selects by their names, even if attributes change.
    """
    known: dict[tuple[str, ...], Manifest] = {}
    for made in found.others:
        spec = made.get("spec", {})
        for device in spec.get("devices", ()) if made["kind"] == "ResourceSlice" else ():
            key = (spec["driver"], spec["pool"]["name"], device["name"])
            device["attributes"] = known.setdefault(key, device["attributes"])


def _shape(found: cluster.Cluster, kinds: dict[str, float]) -> None:
    source = found.draw
    if source.chance(0.2):
        node_affinity.shape(found)
    if source.chance(0.15):
        taints.shape(found)
    for node in found.nodes:
        node["metadata"]["labels"] |= {"zone": source.pick(generate_slices.ZONES)}
        if source.chance(0.5):
            node["metadata"]["labels"]["kind"] = "x"
    if source.chance(0.3):
        _make_room_scarce(found)
    _ask_for_devices(found, kinds)
    if source.chance(0.1):
        found.weights["DynamicResources"] = source.pick((1, 5, 20))
    if source.chance(0.05):
        found.plugin_config["DynamicResources"] = {"bindingTimeout": "60s"}


def _ask_for_devices(found: cluster.Cluster, kinds: dict[str, float]) -> None:
    source = found.draw
    rng = random.Random(source.number(0, 2**32))
    nodes = [node["metadata"]["name"] for node in found.nodes]
    slices = device_slices.make(rng, nodes)
    drivers = device_slices.list_drivers(slices)
    classes = [_make_class(source, rng, name, drivers) for name in generate.CLASSES]
    names = _list_resources(classes)
    maker = device_claims.ClaimMaker(source, rng, slices, nodes)
    maker.add_old(list(generate.allocate_some(rng, slices)), found.placed)
    has_plugins = "extended" in kinds and source.chance(0.3)
    if has_plugins:
        for node in found.nodes:
            _let_plugin_provide(source, node["status"])
    for pod in found.pending:
        maker.begin()
        kind = source.weighted(kinds)
        if kind == "both" and has_plugins:
            kind = "claims"
        if kind in ("claims", "both"):
            maker.ask(pod)
        if kind in ("extended", "both"):
            _request(source, pod["spec"], names)
            _shorten_search(maker, pod["spec"])
            if source.chance(0.1):
                maker.leave_extended(pod, source.pick(generate.CLASSES))
    found.others += [*slices, *classes, *maker.claims]


def _make_class(source: draw.Draw, rng: random.Random, name: str, drivers: list[str]) -> Manifest:
    made: Manifest = {
        "apiVersion": device_slices.API,
        "kind": "DeviceClass",
        **generate.make_class(rng, name, drivers),
    }
    made["metadata"]["creationTimestamp"] = source.pick(_CREATED)
    if source.chance(0.6):
        made["spec"]["extendedResourceName"] = source.pick((_GPU, _GPU, _NIC))
    return made


def _list_resources(classes: list[Manifest]) -> tuple[str, ...]:
    """Return the extended resources that classes provide, explicit names twice.

    If classes share a name, kube-scheduler knows implicit names of some of them only: of those that
    it has seen before the one that prevails.
    """
    explicit = [each["spec"].get("extendedResourceName") for each in classes]
    shared = {name for name in explicit if name and explicit.count(name) > 1}
    implicit = [
        f"{_IMPLICIT}{each['metadata']['name']}"
        for each in classes
        if each["spec"].get("extendedResourceName") not in shared
    ]
    return (*sorted({name for name in explicit if name}) * 2, *implicit)


def _let_plugin_provide(source: draw.Draw, status: Manifest) -> None:
    """Give a node extended resources of its own; an amount of 0 is as if it had none."""
    for name in source.some((_GPU, _NIC, _ANY), 0, 2):
        amount = source.pick(("0", "1", "2", "4"))
        for field in ("allocatable", "capacity"):
            status[field][name] = amount


def _request(source: draw.Draw, spec: Manifest, names: tuple[str, ...]) -> None:
    """Let containers of all kinds request extended resources."""
    spec["containers"] = source.many(1, 3, lambda: _container(source, names))
    if source.chance(0.5):
        spec["initContainers"] = source.many(1, 3, lambda: _init_container(source, names))
    for number, container in enumerate((*spec["containers"], *spec.get("initContainers", ()))):
        container["name"] = f"c{number}"


def _container(source: draw.Draw, names: tuple[str, ...]) -> Manifest:
    asked = source.some(names, 0, 2)
    amounts = {name: source.pick(("0", "1", "1", "1", "2")) for name in asked}
    if source.chance(0.02):
        amounts[_UNMAPPED] = "1"
    # Both are what they would be for an object that has been created.
    requests = {**amounts, **({"cpu": "100m"} if source.chance(0.6) else {})}
    return {"image": "app:v1", "resources": {"requests": requests, "limits": amounts}}


def _init_container(source: draw.Draw, names: tuple[str, ...]) -> Manifest:
    made = _container(source, names)
    return {**made, "restartPolicy": "Always"} if source.chance(0.4) else made


def _shorten_search(maker: device_claims.ClaimMaker, spec: Manifest) -> None:
    """Drop requests for more extended resources than can be searched for in time."""
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        amounts = container["resources"]["limits"]
        for name in [each for each in amounts if not maker.afford(int(amounts[each]))]:
            del amounts[name], container["resources"]["requests"][name]


def _make_room_scarce(found: cluster.Cluster) -> None:
    """Make cpu scarce, so that preemption finds victims."""
    source = found.draw
    for node in found.nodes:
        node["status"]["allocatable"]["cpu"] = source.pick(("500m", "1", "2"))
    for pod in found.pods:
        pod["spec"]["priority"] = source.pick((0, 0, 10))
