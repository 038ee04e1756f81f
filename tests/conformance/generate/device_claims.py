"""Claims of pods for devices, in all states in which a scheduler can find them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from tests.conformance.generate import cluster, device_slices, draw
from tests.devices import generate

Manifest = cluster.Manifest
FINALIZER = "resource.kubernetes.io/delete-protection"
EXTENDED = "resource.kubernetes.io/extended-resource-claim"

_KINDS = {
    "new": 8.0,
    "shared": 3.0,
    "allocated": 4.0,
    "generated": 2.0,
    "generated allocated": 1.0,
    "deleted": 0.15,
    "missing": 0.15,
    "not needed": 0.4,
    "not generated": 0.15,
    "not owned": 0.15,
}
"""Weights of the kinds of claims of a pod."""
_MOST_CHOICES = 100_000
"""Larger searches would take seconds on each node."""
_TRIES = 20
_IMPOSSIBLE: tuple[Manifest, ...] = (
    {"count": 33},
    {"selectors": [{"cel": {"expression": 'device.attributes["example.com"].missing == 1'}}]},
)
"""More devices than a claim can have, and a selector that fails for all devices."""
_TIMES = ("2001-01-01T00:00:00Z", "2199-01-01T00:00:00Z")
"""Times of allocations: the timeout of devices is over at any present time, or it is not."""
_CONDITIONS = {"bindingConditions": ["attached", "ready"], "bindingFailureConditions": ["broken"]}


class ClaimMaker:
    """Makes claims, and lets pods name them.

    Attributes:
        claims: what it has made.
    """

    def __init__(
        self,
        source: draw.Draw,
        rng: random.Random,
        slices: Sequence[Manifest],
        nodes: Sequence[str],
    ) -> None:
        self.claims: list[Manifest] = []
        self._source = source
        self._rng = rng
        self._nodes = nodes
        self._choices = 1
        self._devices = [
            (each["spec"], device) for each in slices for device in each["spec"].get("devices", ())
        ]
        drivers = device_slices.list_drivers(slices)
        self._writer = generate.ClaimWriter(rng, drivers, is_large=False)

    def add_old(self, allocated: Sequence[Manifest], pods: Sequence[Manifest]) -> None:
        """Add claims of earlier pods."""
        for each in allocated:
            claim = self._make(each["metadata"]["name"], "default")
            claim["metadata"]["finalizers"] = [FINALIZER]
            claim["spec"]["devices"] = {"requests": [_make_request("r")]}
            claim["status"] = each["status"]
            claim["status"]["allocation"]["allocationTimestamp"] = self._source.pick(_TIMES)
            if pods:
                claim["status"]["reservedFor"] = [_reserve(self._source.pick(pods))]

    def begin(self) -> None:
        """Begin with the next pod, because one search serves all claims of a pod."""
        self._choices = 1

    def afford(self, count: int) -> bool:
        """Return whether the pod can request this number of further devices; if so, count them."""
        choices = self._choices * count_choices(len(self._devices), count)
        if choices > _MOST_CHOICES:
            return False
        self._choices = choices
        return True

    def ask(self, pod: Manifest) -> None:
        """Let a pod name a few claims."""
        for number in range(self._source.weighted({1: 5, 2: 3, 3: 1})):
            kind = self._source.weighted(_KINDS)
            entry, claim_name = {"name": f"e{number}"}, f"c{len(self.claims)}"
            if kind.startswith(("generated", "not")):
                entry["resourceClaimTemplateName"] = "template"
                self._generate(pod, entry["name"], kind)
            else:
                entry["resourceClaimName"] = self._name(pod, kind, claim_name)
            pod["spec"].setdefault("resourceClaims", []).append(entry)

    def leave_extended(self, pod: Manifest, class_name: str) -> None:
        """Add a claim for extended resources of a pod from an earlier attempt."""
        name = f"{pod['metadata']['name']}-extended-resources-x{len(self.claims)}"
        claim = self._make(name, pod["metadata"]["namespace"])
        request = _make_request("container-0-request-0", class_name)
        claim["spec"]["devices"] = {"requests": [request]}
        claim["metadata"]["annotations"] = {EXTENDED: "true"}
        claim["metadata"]["ownerReferences"] = [_own(pod)]
        claim["metadata"]["finalizers"] = self._source.some((FINALIZER, "example.com/x"), 0, 2)
        if self._source.chance(0.5):
            self._allocate(claim, pod)

    def _name(self, pod: Manifest, kind: str, name: str) -> str:
        namespace = pod["metadata"]["namespace"]
        if kind == "missing":
            return "missing"
        if kind == "shared":
            others = [
                claim
                for claim in self.claims
                if claim["metadata"]["namespace"] == namespace
                and not _is_asked(pod, claim)
                and self._can_afford(claim)
            ]
            if others:
                other = self._source.pick(others)
                self._choices *= self._count_choices(other)
                name = other["metadata"]["name"]
                return str(name)
        claim = self._make(name, namespace)
        if kind == "deleted":
            claim["metadata"] |= {"deletionTimestamp": _TIMES[0], "finalizers": [FINALIZER]}
        if kind == "allocated":
            self._allocate(claim, pod)
        return name

    def _generate(self, pod: Manifest, entry_name: str, kind: str) -> None:
        """Create the claim of a template as the controller does, or as before it did."""
        if kind == "not generated":
            return
        status: Manifest = {"name": entry_name}
        if kind != "not needed":
            name = f"{pod['metadata']['name']}-{entry_name}-x{len(self.claims)}"
            claim = self._make(name, pod["metadata"]["namespace"])
            claim["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": entry_name}
            owner = _own(pod)
            if kind == "not owned":
                owner |= self._source.pick(({"uid": "former"}, {"controller": False}))
            claim["metadata"]["ownerReferences"] = [owner]
            status["resourceClaimName"] = name
            if kind == "generated allocated":
                self._allocate(claim, pod)
        pod["status"].setdefault("resourceClaimStatuses", []).append(status)

    def _make(self, name: str, namespace: str) -> Manifest:
        claim: Manifest = {
            "apiVersion": device_slices.API,
            "kind": "ResourceClaim",
            **self._write(name),
        }
        self._choices *= self._count_choices(claim)
        version = str(self._source.number(1, 99_999))
        uid = f"claim-{namespace}-{name}"
        claim["metadata"] |= {"namespace": namespace, "uid": uid, "resourceVersion": version}
        self.claims.append(claim)
        return claim

    def _write(self, name: str) -> Manifest:
        """Return a claim that can be searched for in time, with those that the pod has."""
        claim = self._writer.make_claim(name)
        if self._source.chance(0.025):
            request = _make_request("r0")
            request["exactly"] |= self._source.pick(_IMPOSSIBLE)
            return {**claim, "spec": {"devices": {"requests": [request]}}}
        for _ in range(_TRIES):
            if self._can_afford(claim):
                return claim
            claim = self._writer.make_claim(name)
        return {**claim, "spec": {"devices": {"requests": []}}}

    def _can_afford(self, claim: Manifest) -> bool:
        return self._choices * self._count_choices(claim) <= _MOST_CHOICES

    def _count_choices(self, claim: Manifest) -> int:
        """Return an upper limit of the choices of devices that a search tries for a claim."""
        if claim.get("status", {}).get("allocation"):
            return 1
        choices = 1
        for request in claim["spec"]["devices"]["requests"]:
            asks = request.get("firstAvailable") or [request["exactly"]]
            choices *= sum(count_choices(len(self._devices), ask.get("count", 0)) for ask in asks)
        return choices

    # --- allocations -----------------------------------------------------------------------------

    def _allocate(self, claim: Manifest, pod: Manifest) -> None:
        """Give a claim devices, perhaps elsewhere, perhaps not ready, and reserve it for pods."""
        source = self._source
        results = [self._result(name) for name in _requests_that_won(source, claim)]
        allocation: Manifest = {"devices": {"results": results}}
        selector = self._selector()
        if selector:
            allocation["nodeSelector"] = {"nodeSelectorTerms": [selector]}
        # kube-scheduler adds a missing time, which the API server refuses (docs/devices.md).
        allocation["allocationTimestamp"] = source.pick(_TIMES)
        status: Manifest = {"allocation": allocation}
        told = [self._tell(each) for each in results if "bindingConditions" in each]
        if told and source.chance(0.8):
            status["devices"] = list({each["device"]: each for each in told}.values())
        other = {"metadata": {"name": "other", "uid": "other-uid"}}
        users = source.pick(((), (), (pod,), (pod,), (other,), (pod, other)))
        if users:
            status["reservedFor"] = [_reserve(user) for user in users]
        claim["status"] = status
        if source.chance(0.9):
            claim["metadata"]["finalizers"] = [FINALIZER]

    def _result(self, request: str) -> Manifest:
        spec, device = self._source.pick(self._devices) if self._devices else _GONE
        identity = f"share-{len(self.claims)}-{request}"
        made = generate.make_result(self._rng, spec, device, identity)
        made["request"] = request
        if self._source.chance(0.35):
            made |= _CONDITIONS
        return made

    def _selector(self) -> Manifest | None:
        source = self._source
        kind = source.weighted({"": 4, "name": 5, "zone": 2})
        if kind == "name":
            names = [source.pick((*self._nodes, "gone"))]
            return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": names}]}
        if kind == "zone":
            return {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
        return None

    def _tell(self, result: Manifest) -> Manifest:
        """Return the report of a driver on a device, which is mostly ready."""
        source = self._source
        conditions = [
            _condition(name, source.weighted({"True": 6, "False": 1, "Unknown": 1}))
            for name in _CONDITIONS["bindingConditions"]
            if source.chance(0.9)
        ]
        if source.chance(0.3):
            conditions.append(_condition("broken", source.pick(("True", "False"))))
        device = {name: result[name] for name in ("driver", "pool", "device")}
        return {**device, "conditions": conditions}


_GONE: tuple[Manifest, Manifest] = (
    {"driver": "gone.example.com", "pool": {"name": "gone"}},
    {"name": "gone"},
)


def count_choices(devices: int, count: int) -> int:
    """Return the number of choices of this number of devices; it is 1 for no devices."""
    return max(1, math.comb(devices, count))


def _requests_that_won(source: draw.Draw, claim: Manifest) -> Iterator[str]:
    """Yield the names in results: one for each request, with the chosen alternative."""
    for request in claim["spec"]["devices"]["requests"]:
        if "firstAvailable" in request:
            yield f"{request['name']}/{source.pick(request['firstAvailable'])['name']}"
        else:
            yield request["name"]


def _is_asked(pod: Manifest, claim: Manifest) -> bool:
    """Return whether a pod has a claim already: kube-scheduler would reserve it twice."""
    name = claim["metadata"]["name"]
    entries = pod["spec"].get("resourceClaims", ())
    made = pod.get("status", {}).get("resourceClaimStatuses", ())
    return any(each.get("resourceClaimName") == name for each in (*entries, *made))


def _make_request(name: str, class_name: str = "any") -> Manifest:
    ask = {"deviceClassName": class_name, "allocationMode": "ExactCount", "count": 1}
    return {"name": name, "exactly": ask}


def _own(pod: Manifest) -> Manifest:
    metadata = pod["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def _reserve(pod: Manifest) -> Manifest:
    metadata = pod["metadata"]
    return {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}


def _condition(name: str, status: str) -> Manifest:
    message = f'it "{name}" \\ {status}'
    told = {"reason": "Told", "message": message, "lastTransitionTime": _TIMES[0]}
    return {"type": name, "status": status, **told}
