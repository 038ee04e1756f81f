"""Generated cases for the allocator: a node, slices, classes, and claims with and without devices.

`distinctAttribute` for requests of several devices is left out, because kube-scheduler 1.36.3 has a
fault there: it keeps only one value of each request.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.devices.generate_slices import (
    AMOUNTS,
    DRIVERS,
    MODELS,
    NODE,
    STANDARD_NAME,
    ZONES,
    Json,
    SliceWriter,
)

CLASSES: Final = ("any", "driver", "healthy", "model")
_NAMESPACE: Final = "default"
_FULL_NAMES: Final = (*(f"{driver}/numa" for driver in DRIVERS), STANDARD_NAME)


def make_case(rng: random.Random) -> Json:
    """Return a case in the form that the oracle reads."""
    is_large = rng.random() < 0.08
    writer = SliceWriter(rng, is_large=is_large)
    writer.write()
    labels = {"zone": rng.choice(ZONES), **({"kind": "x"} if rng.random() < 0.5 else {})}
    drivers = sorted({each["spec"]["driver"] for each in writer.slices}) or list(DRIVERS[:1])
    claims = ClaimWriter(rng, drivers, is_large=is_large)
    return {
        "node": {"metadata": {"name": NODE, "labels": labels}},
        "slices": writer.slices,
        "classes": [make_class(rng, name, drivers) for name in CLASSES],
        "claims": [claims.make_claim(f"c{i}") for i in range(rng.choice((1, 1, 1, 2, 3)))],
        "allocated": list(allocate_some(rng, writer.slices)),
    }


def make_class(rng: random.Random, name: str, drivers: Sequence[str]) -> Json:
    """Return the class called `name`, one of `CLASSES`."""
    driver = rng.choice(drivers)
    expressions = {
        "any": [],
        "driver": [f'device.driver == "{driver}"'],
        "healthy": [f'device.attributes["{driver}"].?healthy.orValue(false)'],
        "model": [
            f'device.driver == "{driver}"',
            # It fails for devices without a model.
            f'device.attributes["{driver}"].model != "{rng.choice(MODELS)}"'
            if rng.random() < 0.1
            else f'device.attributes["{driver}"].?model.orValue("") != "{rng.choice(MODELS)}"',
        ],
    }[name]
    spec: Json = {"selectors": [_make_selector(each) for each in expressions]}
    spec["config"] = [_make_parameters(rng, i) for i in range(rng.choice((0, 0, 1, 2)))]
    return {"metadata": {"name": name}, "spec": spec}


def _make_selector(expression: str) -> Json:
    return {"cel": {"expression": expression}}


def _make_parameters(rng: random.Random, number: int) -> Json:
    parameters = {"number": number, "list": [rng.random() < 0.5, None, "x"]}
    return {"opaque": {"driver": rng.choice(DRIVERS), "parameters": parameters}}


class ClaimWriter:
    """Writes claims whose requests name classes, and select devices of some drivers.

    Large ones have prioritized requests whose alternatives may exceed the limit of a claim.
    """

    def __init__(self, rng: random.Random, drivers: Sequence[str], *, is_large: bool) -> None:
        self._rng = rng
        self._drivers = drivers
        self._is_large = is_large
        self._asks_capacity = rng.random() < 0.4

    def make_claim(self, name: str) -> Json:
        """Return a claim without devices."""
        rng = self._rng
        requests = [
            self._make_request(f"r{i}") for i in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3)))
        ]
        if len(requests) == 0 and rng.random() < 0.8:
            requests = [self._make_request("r0")]
        names = list(_list_names(requests))
        devices = {
            "requests": requests,
            "constraints": list(self._make_constraints(requests)),
            "config": [
                {
                    **_make_parameters(rng, i),
                    "requests": rng.sample(names, rng.randint(0, len(names))),
                }
                for i in range(rng.choice((0, 0, 0, 1, 2)))
            ],
        }
        return {"metadata": {"name": name, "namespace": _NAMESPACE}, "spec": {"devices": devices}}

    def _make_request(self, name: str) -> Json:
        rng = self._rng
        if rng.random() < (0.8 if self._is_large else 0.3):
            count = rng.choice((1, 2, 2, 3))
            asks = [{"name": f"a{i}", **self._make_ask()} for i in range(count)]
            return {"name": name, "firstAvailable": asks}
        ask = self._make_ask()
        if rng.random() < 0.08:
            ask["adminAccess"] = rng.random() < 0.9
        return {"name": name, "exactly": ask}

    def _make_ask(self) -> Json:
        rng = self._rng
        classes = ("any",) if self._is_large else (*CLASSES, "any", "any")
        is_unknown = rng.random() < 0.005
        ask: Json = {"deviceClassName": "unknown" if is_unknown else rng.choice(classes)}
        if rng.random() < 0.1:
            ask["allocationMode"] = "All"
        else:
            counts = (1, 2, 4, 10, 11, 16, 17, 20, 31) if self._is_large else (1, 1, 1, 1, 2, 2, 3)
            ask |= {"allocationMode": "ExactCount", "count": rng.choice(counts)}
        if rng.random() < (0.05 if self._is_large else 0.25):
            ask["selectors"] = [_make_selector(self._make_expression())]
        if rng.random() < 0.5:
            ask["tolerations"] = [self._make_toleration() for _ in range(rng.choice((1, 2)))]
        if self._asks_capacity and rng.random() < 0.6:
            ask["capacity"] = {"requests": self._make_amounts()}
        return ask

    def _make_expression(self) -> str:
        rng = self._rng
        driver = rng.choice(self._drivers)
        attributes = f'device.attributes["{driver}"]'
        memory = f'device.capacity["{driver}"].?memory'
        return rng.choice(
            (
                "true",
                f'device.driver == "{driver}"',
                f"{attributes}.?index.orValue(0) < {rng.choice((1, 2))}",
                f'"{rng.choice(MODELS)}" == {attributes}.?model.orValue("")',
                f'"memory" in device.capacity["{driver}"]',
                f'{memory}.orValue(quantity("0")).compareTo(quantity("6Gi")) >= 0',
                "device.allowMultipleAllocations == true",
                f"{attributes}.index >= 0 || true",
                f"{attributes}.healthy" if rng.random() < 0.1 else "!false",
            )
        )

    def _make_toleration(self) -> Json:
        rng = self._rng
        toleration: Json = {"operator": rng.choice(("Exists", "Exists", "Equal"))}
        if rng.random() < 0.7:
            toleration["key"] = f"{rng.choice('ab')}.example.com/x"
        if toleration["operator"] == "Equal":
            toleration["value"] = rng.choice(("", "v"))
        if rng.random() < 0.4:
            toleration["effect"] = rng.choice(("NoSchedule", "NoExecute"))
            toleration["tolerationSeconds"] = 60
        return toleration

    def _make_amounts(self) -> Json:
        rng = self._rng
        names = ["memory"]
        if rng.random() < 0.15:
            names.append(rng.choice(("net.example.com/bandwidth", "unknown")))
        return {name: rng.choice(AMOUNTS) for name in names}

    def _make_constraints(self, requests: Sequence[Json]) -> Iterator[Json]:
        rng = self._rng
        for _ in range(0 if self._is_large else rng.choice((0, 0, 0, 0, 1, 1, 2))):
            attribute = rng.choice(
                (f"{rng.choice(self._drivers)}/model", f"{rng.choice(self._drivers)}/index")
                if rng.random() < 0.3
                else (f"{rng.choice(self._drivers)}/numa", *_FULL_NAMES[-1:])
            )
            if rng.random() < 0.7:
                names = list(_list_names(requests))
                chosen = rng.sample(names, rng.randint(0, len(names)))
                yield {"matchAttribute": attribute, "requests": chosen}
                continue
            single = list(_list_names(each for each in requests if _is_single(each)))
            if single:
                chosen = rng.sample(single, rng.randint(1, len(single)))
                yield {"distinctAttribute": attribute, "requests": chosen}


def _list_names(requests: Iterator[Json] | Sequence[Json]) -> Iterator[str]:
    for request in requests:
        yield request["name"]
        for alternative in request.get("firstAvailable", ()):
            yield f"{request['name']}/{alternative['name']}"


def _is_single(request: Json) -> bool:
    """Return whether the request gets one device, whichever its alternative."""
    asks = request.get("firstAvailable") or [request["exactly"]]
    return all(ask.get("count") == 1 for ask in asks)


def allocate_some(rng: random.Random, slices: Sequence[Json]) -> Iterator[Json]:
    """Yield claims that have devices, in one case of two; some devices are over-committed."""
    if rng.random() < 0.5:
        return
    busy = rng.choice((0.1, 0.3, 0.6))
    for each in slices:
        for device in each["spec"].get("devices", ()):
            if rng.random() < busy:
                yield _make_allocated_claim(rng, each["spec"], device)


def _make_allocated_claim(rng: random.Random, spec: Json, device: Json) -> Json:
    identity = f"{rng.randrange(2**32):08x}"
    return {
        "metadata": {"name": f"old-{identity}", "namespace": _NAMESPACE, "uid": identity},
        "status": {
            "allocation": {"devices": {"results": [make_result(rng, spec, device, identity)]}}
        },
    }


def make_result(rng: random.Random, spec: Json, device: Json, identity: str) -> Json:
    """Return the result of a claim for a device of a slice, with this identity if it is a share."""
    result: dict[str, Any] = {
        "request": "r",
        "driver": spec["driver"],
        "pool": spec["pool"]["name"],
        "device": device["name"],
    }
    if rng.random() < 0.1:
        result["adminAccess"] = True
    elif device.get("allowMultipleAllocations") and rng.random() < 0.9:
        result["shareID"] = identity
        if device.get("capacity"):
            result["consumedCapacity"] = {
                name: rng.choice(("0", "1", "1Gi", "2Gi")) for name in device["capacity"]
            }
    return result
