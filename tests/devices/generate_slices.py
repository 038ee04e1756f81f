"""Generated ResourceSlices: pools for one node, for others or for all, some of them damaged.

Left out are cases that kube-scheduler 1.36.3 decides by a known fault, or not always alike: pools
with counters whose names two drivers share, different numbers of slices within one generation, and
amounts that Go keeps as decimals (`1.5Gi`), which it changes in place.
"""

from __future__ import annotations

import random
from typing import Any, Final

NODE: Final = "n1"
OTHER_NODE: Final = "n2"
ZONES: Final = ("a", "b")
DRIVERS: Final = ("gpu.example.com", "net.example.com", "fpga.example.com", "tpu.example.com")
MODELS: Final = ("A100", "H100", "L4")
STANDARD_NAME: Final = "std.example.com/rack"
AMOUNTS: Final = ("1Gi", "2Gi", "1024Mi", "3", "4Gi", "512Mi", "2k", "1e3", "1500m", "1073741824")
"""Go adds in place to a quantity that it keeps as a decimal, such as `1.2Gi`: none is requested."""
_POOL_NAMES: Final = ("p1", "p2", "p10", "q")
_SCOPES: Final = (*["node"] * 4, *["all"] * 3, "selector", "selector", "device", "device", "other")
_COUNTER_SETS: Final = ("left", "right")
_COUNTERS: Final = ("memory", "slots")
_DAMAGE_SHARE: Final = 0.04

Json = dict[str, Any]


class SliceWriter:
    """Writes the slices of a cluster; large pools have more devices than a claim can get.

    Attributes:
        slices: what it has written.
    """

    def __init__(self, rng: random.Random, *, is_large: bool) -> None:
        self.slices: list[Json] = []
        self._rng = rng
        self._is_large = is_large
        self._has_counters = not is_large and rng.random() < 0.35
        self._has_capacity = not is_large and rng.random() < 0.5
        self._has_taints = not is_large and rng.random() < 0.3
        self._has_conditions = rng.random() < 0.2

    def write(self) -> None:
        """Write all pools, in any order of slices."""
        rng = self._rng
        for driver in rng.sample(DRIVERS, rng.choice((1, 2, 2, 3, 4))):
            for name in rng.sample(_POOL_NAMES, rng.choice((1, 1, 2, 3))):
                uses_counters = self._has_counters and rng.random() < 0.7
                self._write_pool(driver, f"{driver[:3]}-{name}" if uses_counters else name)
        rng.shuffle(self.slices)

    def _write_pool(self, driver: str, name: str) -> None:
        rng = self._rng
        scope = "all" if self._is_large else rng.choice(_SCOPES)
        generation = rng.choice((1, 3))
        with_counters = name not in _POOL_NAMES
        self._write_generation(driver, name, scope, generation, with_counters=with_counters)
        if rng.random() < _DAMAGE_SHARE * 2:
            other = rng.choice((scope, "other", "node", "all"))
            self._write_generation(driver, name, other, 2, with_counters=with_counters)

    def _write_generation(
        self, driver: str, pool: str, scope: str, generation: int, *, with_counters: bool
    ) -> None:
        rng = self._rng
        sets = self._make_counter_sets() if with_counters else []
        device_slices = rng.choice((1, 1, 2, 3))
        specs = []
        if sets:
            shared = "all" if scope in ("device", "selector") else scope
            specs.append({**self._make_nodes(shared), "sharedCounters": sets})
        for i in range(device_slices):
            own_scope = rng.choice(("other", "other", "none")) if rng.random() < 0.1 else scope
            specs.append(self._make_device_slice(driver, own_scope, i, sets))
        identity = {"name": pool, "generation": generation, "resourceSliceCount": len(specs)}
        if rng.random() < _DAMAGE_SHARE:
            specs.pop(rng.randrange(len(specs)))
        for spec in specs:
            spec |= {"driver": driver, "pool": identity}
            name = f"s{rng.randrange(1000):03}-{len(self.slices)}"
            self.slices.append({"metadata": {"name": name}, "spec": spec})

    def _make_device_slice(self, driver: str, scope: str, index: int, sets: list[Json]) -> Json:
        rng = self._rng
        count = rng.randint(12, 40) if self._is_large else rng.choice((0, 1, 2, 2, 3, 4, 5))
        devices = [
            self._make_device(driver, f"d{index}-{rng.choice('xyz')}{i}", scope, sets)
            for i in range(count)
        ]
        if devices and rng.random() < _DAMAGE_SHARE / 2:
            devices.append({**devices[0]})
        return {**self._make_nodes(scope), "devices": devices}

    def _make_nodes(self, scope: str) -> Json:
        if scope == "node":
            return {"nodeName": NODE}
        if scope == "other":
            return {"nodeName": OTHER_NODE}
        if scope == "all":
            return {"allNodes": True}
        if scope == "device":
            return {"perDeviceNodeSelection": True}
        return self._make_selector() if scope == "selector" else {}

    def _make_selector(self) -> Json:
        rng = self._rng
        zones = list(ZONES)
        rng.shuffle(zones)
        expressions = [
            {"key": "zone", "operator": "In", "values": zones[: rng.choice((1, 2))]},
            {"key": "kind", "operator": rng.choice(("Exists", "DoesNotExist"))},
        ]
        term: Json = {"matchExpressions": rng.sample(expressions, rng.choice((1, 1, 2)))}
        if rng.random() < 0.2:
            term["matchFields"] = [
                {"key": "metadata.name", "operator": "NotIn", "values": [OTHER_NODE]}
            ]
        # Kubernetes permits only one term.
        terms = [term] * (2 if rng.random() < _DAMAGE_SHARE else 1)
        return {"nodeSelector": {"nodeSelectorTerms": terms}}

    def _make_counter_sets(self) -> list[Json]:
        rng = self._rng
        is_repeated = rng.random() < _DAMAGE_SHARE
        return [
            {
                "name": name,
                "counters": {
                    counter: {"value": rng.choice(("2", "4", "6", "4Gi"))} for counter in _COUNTERS
                },
            }
            for name in (*_COUNTER_SETS[: rng.choice((1, 2))], *_COUNTER_SETS[:is_repeated])
        ]

    def _make_device(self, driver: str, name: str, scope: str, sets: list[Json]) -> Json:
        rng = self._rng
        device: Json = {"name": name, "attributes": self._make_attributes(driver)}
        if scope == "device":
            device |= self._make_nodes(
                rng.choice(("node", "all", "all", "selector", "other", "none"))
            )
        if sets and rng.random() < 0.8:
            chosen = rng.sample(sets, rng.choice((1, 1, len(sets))))
            device["consumesCounters"] = [self._make_consumption(each) for each in chosen]
        if self._has_capacity and rng.random() < 0.8:
            device["capacity"] = self._make_capacity()
        if self._has_capacity and rng.random() < 0.5:
            device["allowMultipleAllocations"] = True
        if self._has_taints and rng.random() < 0.5:
            device["taints"] = [self._make_taint() for _ in range(rng.choice((1, 1, 2)))]
        if self._has_conditions and rng.random() < 0.4:
            device["bindingConditions"] = ["attached"]
            device["bindingFailureConditions"] = ["broken"]
            device["bindsToNode"] = rng.random() < 0.5
        return device

    def _make_attributes(self, driver: str) -> Json:
        rng = self._rng
        numa = rng.choice(("numa", f"{driver}/numa"))
        attributes: Json = {
            "model": {"string": rng.choice(MODELS)},
            "index": {"int": rng.randrange(3)},
            "healthy": {"bool": rng.random() < 0.8},
            "firmware": {"version": rng.choice(("1.2.3", "1.2.3+b", "2.0.0"))},
            numa: rng.choice(({"int": 0}, {"int": 1}, {"string": "0"})),
            # A value of a type that this version does not know is empty.
            STANDARD_NAME: {"string": rng.choice("rst")} if rng.random() < 0.996 else {},
        }
        return {name: value for name, value in attributes.items() if rng.random() < 0.93}

    def _make_consumption(self, counter_set: Json) -> Json:
        rng = self._rng
        counters = rng.sample(_COUNTERS, rng.choice((1, 2)))
        if rng.random() < _DAMAGE_SHARE / 8:
            counters.append("unknown")
        name = "nowhere" if rng.random() < _DAMAGE_SHARE / 8 else counter_set["name"]
        return {
            "counterSet": name,
            "counters": {
                each: {"value": rng.choice(("0", "1", "1", "2", "3"))} for each in counters
            },
        }

    def _make_capacity(self) -> Json:
        rng = self._rng
        capacity = {
            "memory": self._make_amount(
                ("4Gi", "8Gi", "6Gi", "4Gi", "8Gi", "16Ei", "1e30", "9" * 100)
            )
        }
        if rng.random() < 0.4:
            capacity["net.example.com/bandwidth"] = self._make_amount(("4", "10", "2k"))
        return capacity

    def _make_amount(self, values: tuple[str, ...]) -> Json:
        rng = self._rng
        amount: Json = {"value": rng.choice(values)}
        kind = rng.choice(("", "", "values", "range", "steps"))
        if kind == "values":
            amount["requestPolicy"] = {"default": "1Gi", "validValues": ["1", "1Gi", "2Gi"]}
        elif kind:
            valid_range: Json = {"min": rng.choice(("1", "512Mi", "1Gi"))}
            if rng.random() < 0.7:
                valid_range["max"] = "3Gi"
            if kind == "steps":
                valid_range["step"] = rng.choice(("1Mi", "512Mi", "2"))
            amount["requestPolicy"] = {"default": valid_range["min"], "validRange": valid_range}
        return amount

    def _make_taint(self) -> Json:
        rng = self._rng
        return {
            "key": f"{rng.choice('ab')}.example.com/x",
            "value": rng.choice(("", "v")),
            "effect": rng.choice(("NoSchedule", "NoExecute", "None")),
        }
