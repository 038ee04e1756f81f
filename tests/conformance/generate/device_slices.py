"""ResourceSlices for several nodes, from those that `tests.devices` generates for one node."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence

from tests.conformance.generate import cluster
from tests.devices import generate_slices

Manifest = cluster.Manifest
API = "resource.k8s.io/v1"

_MOST_OWNERS = 3
"""Nodes with pools of their own; the others have what all nodes have."""
_MOST_POOLS = 3
"""Of a node."""
_MOST_DEVICES = 4
"""Of a slice: few, so that searches stay short."""
_NODE = re.compile(f'"({generate_slices.NODE}|{generate_slices.OTHER_NODE})"')
_MOST_COUNTER_SETS = 2
"""The API server takes no more for a device."""
_SCOPES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def make(rng: random.Random, nodes: Sequence[str]) -> list[Manifest]:
    """Return slices for some of the nodes, for those that selectors choose, and for all."""
    made = []
    for number, name in enumerate(rng.sample(nodes, min(len(nodes), _MOST_OWNERS))):
        writer = generate_slices.SliceWriter(rng, is_large=False)
        writer.write()
        other = rng.choice([each for each in nodes if each != name] or ["gone"])
        names = {generate_slices.NODE: name, generate_slices.OTHER_NODE: other}
        for each in _renamed(_choose_pools(rng, writer.slices), names):
            each["metadata"]["name"] += f"-{number}"
            # The slices of a pool share this part.
            spec = each["spec"]
            spec["pool"] = {**spec["pool"], "name": f"{spec['pool']['name']}-{number}"}
            _mend(spec)
            made.append({"apiVersion": API, "kind": "ResourceSlice", **each})
    return made


def list_drivers(slices: Sequence[Manifest]) -> list[str]:
    """Return the drivers of the slices, sorted; one of them if there are no slices."""
    found = sorted({each["spec"]["driver"] for each in slices})
    return found or [generate_slices.DRIVERS[0]]


def _choose_pools(rng: random.Random, slices: list[Manifest]) -> list[Manifest]:
    """Return the slices of a few pools."""
    pools = sorted({_pool(each) for each in slices})
    chosen = rng.sample(pools, min(len(pools), rng.randint(1, _MOST_POOLS)))
    return [each for each in slices if _pool(each) in chosen]


def _pool(made: Manifest) -> tuple[str, str]:
    return made["spec"]["driver"], made["spec"]["pool"]["name"]


def _renamed(slices: list[Manifest], names: dict[str, str]) -> list[Manifest]:
    text = _NODE.sub(lambda match: json.dumps(names[match[1]]), json.dumps(slices))
    renamed: list[Manifest] = json.loads(text)
    return renamed


def _mend(spec: Manifest) -> None:
    """Drop what an API server refuses; `tests.devices` shows what becomes of that."""
    if not any(scope in spec for scope in _SCOPES):
        spec["allNodes"] = True
    _mend_selector(spec)
    spec["sharedCounters"] = _once(spec.get("sharedCounters", ()), "name")
    spec["devices"] = _once(spec.get("devices", ()), "name")[:_MOST_DEVICES]
    for field in ("sharedCounters", "devices"):
        if not spec[field]:
            del spec[field]
    for device in spec.get("devices", ()):
        if "perDeviceNodeSelection" in spec and not any(scope in device for scope in _SCOPES):
            device["allNodes"] = True
        _mend_device(device)


def _mend_device(device: Manifest) -> None:
    _mend_selector(device)
    device["attributes"] = {name: value for name, value in device["attributes"].items() if value}
    if "consumesCounters" in device:
        consumed = _once(device["consumesCounters"], "counterSet")
        device["consumesCounters"] = consumed[:_MOST_COUNTER_SETS]
    for name, amount in device.get("capacity", {}).items():
        policy = amount.get("requestPolicy")
        if policy is None:
            continue
        if name != "memory" or not device.get("allowMultipleAllocations"):
            del amount["requestPolicy"]
        elif "step" in policy.get("validRange", {}):
            policy["validRange"].pop("max", None)  # it has to be a multiple of the step


def _mend_selector(owner: Manifest) -> None:
    if "nodeSelector" in owner:
        del owner["nodeSelector"]["nodeSelectorTerms"][1:]


def _once(entries: Sequence[Manifest], key: str) -> list[Manifest]:
    return list({entry[key]: entry for entry in entries}.values())
