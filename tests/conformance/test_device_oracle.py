"""What the oracle says of claims: allocations, and everything that is written about them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests import line_process
from tests.conformance import oracle_process

pytestmark = pytest.mark.e2e

Manifest = dict[str, Any]
_API = "resource.k8s.io/v1"
_DRIVER = "gpu.example.com"
_FINALIZER = "resource.kubernetes.io/delete-protection"
_LONG_AGO = "2001-01-01T00:00:00Z"
_CONDITIONS = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}


@pytest.fixture(scope="module")
def oracle() -> Iterator[oracle_process.Oracle]:
    """One oracle for all tests here: that it carries nothing over is part of what they show."""
    with oracle_process.Oracle() as running:
        yield running


def _list(*items: Manifest) -> Manifest:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def _node(name: str, **amounts: str) -> Manifest:
    resources = {"cpu": "4", "memory": "8Gi", "pods": "10", **amounts}
    status = {"allocatable": resources, "capacity": resources}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def _pod(name: str, *claims: str, requests: Manifest | None = None, **fields: Any) -> Manifest:
    container = {"name": "main", "image": "app", "resources": {"requests": requests or {}}}
    named = [{"name": claim, "resourceClaimName": claim} for claim in claims]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [container],
            "resourceClaims": fields.pop("resourceClaims", named),
        },
        **fields,
    }


def _class(name: str = "any", **spec: Any) -> Manifest:
    return {"apiVersion": _API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def _slice(node: str, *devices: Manifest | str) -> Manifest:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    made = [{"name": each} if isinstance(each, str) else each for each in devices]
    spec = {"driver": _DRIVER, "nodeName": node, "pool": pool, "devices": made}
    return {"apiVersion": _API, "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


def _claim(name: str, *, count: int = 1, status: Manifest | None = None, **meta: Any) -> Manifest:
    ask = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": count}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        **meta,
    }
    return {
        "apiVersion": _API,
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": {"requests": [{"name": "r", "exactly": ask}]}},
        "status": status or {},
    }


def _results(pool: str, *devices: str, request: str = "r", **fields: Any) -> list[Manifest]:
    shared = {"request": request, "driver": _DRIVER, "pool": pool}
    return [{**shared, "device": device, **fields} for device in devices]


def _allocation(node: str, *devices: str, **fields: Any) -> Manifest:
    place = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "devices": {"results": _results(node, *devices, **fields)},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [place]}]},
    }


def _reserved(*pods: str) -> list[Manifest]:
    return [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"} for pod in pods]


def _bind(oracle: oracle_process.Oracle, *items: Manifest) -> Manifest:
    [answer] = oracle.ask(_list(*items), oracle_process.BIND)["bind"]
    assert isinstance(answer, dict)
    return answer


def _write(verb: str, resource: str, name: str, **value: Any) -> Manifest:
    made = {"verb": verb, "resource": resource, "name": f"default/{name}"}
    return {**made, "value": value} if value else made


def test_a_claim_is_allocated_on_each_node_and_written_for_one(
    oracle: oracle_process.Oracle,
) -> None:
    """The finalizer comes first, then allocation and reservation; only the latter is taken back."""
    bound = _bind(
        oracle,
        *(_node("a"), _node("b"), _class(), _slice("a", "d1", "d2"), _slice("b", "d3")),
        *(_claim("c"), _pod("p", "c")),
    )
    on_a, on_b = _allocation("a", "d1"), _allocation("b", "d3")
    written = {**on_a, "allocationTimestamp": "now"}
    assert bound == {
        "pod": "default/p",
        "node": "a",
        "nodes": {
            "a": {"claims": {"default/c": on_a}, "unreserved": []},
            "b": {"claims": {"default/c": on_b}, "unreserved": []},
        },
        "preBind": {
            "writes": [
                _write("update", "resourceclaims", "c", finalizers=[_FINALIZER]),
                _write(
                    *("update", "resourceclaims/status", "c"),
                    allocation=written,
                    reservedFor=_reserved("p"),
                ),
            ],
            "events": [],
            "unreserved": [_write("patch", "resourceclaims/status", "c", allocation=written)],
        },
    }


def test_shares_are_numbered(oracle: oracle_process.Oracle) -> None:
    """Identities of shares are random, so they are given by their order in the claim."""
    shared = [{"name": name, "allowMultipleAllocations": True} for name in ("d1", "d2")]
    items = (_node("a"), _class(), _slice("a", *shared), _claim("c", count=2), _pod("p", "c"))
    bound = _bind(oracle, *items)
    results = bound["nodes"]["a"]["claims"]["default/c"]["devices"]["results"]
    assert [each["shareID"] for each in results] == ["1", "2"]


def test_an_allocated_claim_is_reserved(oracle: oracle_process.Oracle) -> None:
    """Nothing is pending; others stay in the list, and the time of the allocation stays."""
    allocation = {**_allocation("a", "d1"), "allocationTimestamp": _LONG_AGO}
    status = {"allocation": allocation, "reservedFor": _reserved("q")}
    bound = _bind(oracle, _node("a"), _node("b"), _claim("c", status=status), _pod("p", "c"))
    assert bound["nodes"] == {"a": {"claims": {}, "unreserved": []}}
    assert bound["preBind"]["writes"] == [
        _write(
            *("update", "resourceclaims/status", "c"),
            allocation=allocation,
            reservedFor=_reserved("q", "p"),
        )
    ]


def test_the_first_claim_that_can_be_is_deallocated(oracle: oracle_process.Oracle) -> None:
    """kube-scheduler takes any of those that are unavailable and reserved for no other pod."""
    elsewhere = _allocation("b", "d1")
    bound = _bind(
        oracle,
        _node("a"),
        _claim("c1", status={"allocation": elsewhere, "reservedFor": _reserved("q")}),
        _claim("c2", status={"allocation": elsewhere, "reservedFor": _reserved("p")}),
        _claim("c3", status={"allocation": elsewhere}),
        _pod("p", "c1", "c2", "c3"),
    )
    assert (bound["node"], bound["nodes"]) == (None, {})
    assert bound["postFilter"] == {
        "refusal": {
            "code": "Unschedulable",
            "reasons": ["deallocation of ResourceClaim completed"],
        },
        "writes": [_write("update", "resourceclaims/status", "c2")],
    }


def test_devices_that_are_not_ready_are_waited_for(oracle: oracle_process.Oracle) -> None:
    """An event tells of it; the wait ends in an error here, and the reservation is taken back."""
    device = {"name": "d1", **_CONDITIONS}
    items = (_node("a"), _class(), _slice("a", device), _claim("c"), _pod("p", "c"))
    bound = _bind(oracle, *items)["preBind"]
    [reason] = bound["refusal"]["reasons"]
    assert reason.endswith("device binding timeout: context deadline exceeded")
    assert [each["note"] for each in bound["events"]] == [
        "waiting for binding conditions for device on node a"
    ]
    assert [write["verb"] for write in bound["writes"]] == ["update", "update"]
    assert [write["verb"] for write in bound["unreserved"]] == ["patch"]


@pytest.mark.parametrize(
    "time, conditions, is_available",
    [
        pytest.param(_LONG_AGO, {}, False, id="late"),
        pytest.param("2199-01-01T00:00:00Z", {}, True, id="in-time"),
        pytest.param(_LONG_AGO, {"attached": "True"}, True, id="ready"),
        pytest.param(_LONG_AGO, {"attached": "True", "broken": "True"}, False, id="failed"),
    ],
)
def test_an_allocated_claim_is_available_unless_its_devices_failed(
    oracle: oracle_process.Oracle, time: str, conditions: dict[str, str], is_available: bool
) -> None:
    """Failed or late devices are given up."""
    allocation = {**_allocation("a", "d1", **_CONDITIONS), "allocationTimestamp": time}
    told = [
        {"type": name, "status": status, "lastTransitionTime": _LONG_AGO}
        for name, status in conditions.items()
    ]
    device = {"driver": _DRIVER, "pool": "a", "device": "d1", "conditions": told}
    status = {"allocation": allocation, "devices": [device] if told else []}
    bound = _bind(oracle, _node("a"), _claim("c", status=status), _pod("p", "c"))
    assert (bound["node"] == "a") == is_available
    assert ("postFilter" in bound) != is_available


def test_a_claim_is_made_for_extended_resources(oracle: oracle_process.Oracle) -> None:
    """It is created, bound like others, and named in the pod; it is deleted if binding fails."""
    bound = _bind(
        oracle,
        *(_node("a"), _class(extendedResourceName="example.com/gpu"), _slice("a", "d1", "d2")),
        _pod("p", requests={"example.com/gpu": "2"}),
    )
    name, request = "p-extended-resources-made", "container-0-request-0"
    ask = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 2}
    requests = [{"name": request, "exactly": ask}]
    allocation = _allocation("a", "d1", "d2", request=request)
    assert bound["nodes"]["a"]["claims"] == {"default/<extended-resources>": allocation}
    created, finalizer, status, pod = bound["preBind"]["writes"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    assert created == _write(
        *("create", "resourceclaims", name),
        generateName="p-extended-resources-",
        annotations={"resource.kubernetes.io/extended-resource-claim": "true"},
        ownerReferences=[owner],
        spec={"devices": {"requests": requests}},
    )
    assert finalizer == _write("update", "resourceclaims", name, finalizers=[_FINALIZER])
    assert status["value"]["allocation"] == {**allocation, "allocationTimestamp": "now"}
    mapping = {
        "containerName": "main",
        "resourceName": "example.com/gpu",
        "requestName": request,
    }
    told = {"resourceClaimName": name, "requestMappings": [mapping]}
    assert pod == _write("patch", "pods/status", "p", extendedResourceClaimStatus=told)
    assert bound["preBind"]["unreserved"] == [
        _write("update", "resourceclaims", name, finalizers=[]),
        _write("delete", "resourceclaims", name),
    ]


def test_a_claim_of_an_earlier_attempt_is_deleted(oracle: oracle_process.Oracle) -> None:
    """No node takes the pod while the claim for its extended resources is there."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    left = _claim(
        "left",
        finalizers=["other", _FINALIZER],
        annotations={"resource.kubernetes.io/extended-resource-claim": "true"},
        ownerReferences=[owner],
    )
    bound = _bind(
        oracle,
        *(_node("a"), _class(extendedResourceName="example.com/gpu"), _slice("a", "d1"), left),
        _pod("p", requests={"example.com/gpu": "1"}),
    )
    assert bound["postFilter"]["refusal"]["reasons"] == ["deletion of ResourceClaim completed"]
    assert bound["postFilter"]["writes"] == [
        _write("update", "resourceclaims", "left", finalizers=["other"]),
        _write("delete", "resourceclaims", "left"),
    ]


_TEMPLATE = [{"name": "t", "resourceClaimTemplateName": "template"}]


@pytest.mark.parametrize(
    "pod, claims, reason",
    [
        pytest.param(_pod("p", "c"), [], 'could not find ResourceClaim "default/c"', id="missing"),
        pytest.param(
            _pod("p", "c"),
            [_claim("c", deletionTimestamp=_LONG_AGO, finalizers=[_FINALIZER])],
            'resourceclaim "c" is being deleted',
            id="deleted",
        ),
        pytest.param(
            _pod("p", resourceClaims=_TEMPLATE),
            [],
            'pod "default/p": ResourceClaim not created yet',
            id="not-created",
        ),
        pytest.param(
            _pod(
                *("p",),
                resourceClaims=_TEMPLATE,
                status={"resourceClaimStatuses": [{"name": "t", "resourceClaimName": "c"}]},
            ),
            [_claim("c")],
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
            id="not-owner",
        ),
    ],
)
def test_claims_that_cannot_be_used_gate_the_pod(
    oracle: oracle_process.Oracle, pod: Manifest, claims: list[Manifest], reason: str
) -> None:
    """PreEnqueue and PreFilter say the same."""
    items = _list(_node("a"), _class(), _slice("a", "d1"), *claims, pod)
    [verdict] = oracle.ask(items, oracle_process.VERDICT)["verdict"]
    assert verdict["gated"]["reasons"] == verdict["prefilter"]["reasons"] == [reason]


def test_a_pod_without_a_claim_for_its_template_is_placed(oracle: oracle_process.Oracle) -> None:
    """A status that names no claim says that none is needed."""
    pod = _pod("p", resourceClaims=_TEMPLATE, status={"resourceClaimStatuses": [{"name": "t"}]})
    bound = _bind(oracle, _node("a"), pod)
    assert bound["node"] == "a"
    assert bound["preBind"] == {"writes": [], "events": [], "unreserved": []}


def test_pods_that_are_placed_have_their_claims(oracle: oracle_process.Oracle) -> None:
    """The next one can share the claim, where it is, and does not get its devices."""
    items = (_node("a"), _node("b"), _class(), _slice("b", "d1"), _claim("c"), _claim("other"))
    pods = (_pod("p1", "c"), _pod("p2", "c"), _pod("p3", "other"))
    placed = oracle.ask(_list(*items, *pods), oracle_process.PLACE)["place"]
    assert [each["node"] for each in placed] == ["b", "b", None]
    assert "2 cannot allocate all claims" in placed[2]["message"]


def test_a_device_plugin_comes_first(oracle: oracle_process.Oracle) -> None:
    """Nodes that have the resource themselves need no devices; others without any do not fit."""
    extended = _class(extendedResourceName="example.com/gpu")
    nodes = (_node("a", **{"example.com/gpu": "1"}), _node("b"), _node("c"))
    pod = _pod("p", requests={"example.com/gpu": "1"})
    bound = _bind(oracle, *nodes, extended, _slice("b", "d1"), pod)
    assert {name: list(each["claims"]) for name, each in bound["nodes"].items()} == {
        "a": [],
        "b": ["default/<extended-resources>"],
    }


def test_the_api_server_refuses_slices_and_claims(oracle: oracle_process.Oracle) -> None:
    """Validation is that of kube-apiserver, defaults included."""
    claim = _claim("c")
    claim["spec"]["devices"]["requests"][0]["exactly"] = {"deviceClassName": "any"}
    items = oracle.ask(_list(claim, _slice("a", "d1")), oracle_process.NORMALIZE)
    exactly = items["cluster"]["items"][0]["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly == {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    bad = copy.deepcopy(claim)
    bad["spec"]["devices"]["requests"][0]["name"] = "no name"
    for item in (bad, _slice("a", "d1", "d1")):
        with pytest.raises(line_process.OracleError, match=f"normalize: {item['kind']}"):
            oracle.ask(_list(item), oracle_process.NORMALIZE)
