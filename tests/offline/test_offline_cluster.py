"""A cluster file as the scheduler's own state."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policysched import errors
from policysched.cluster.objects import storage_objects
from policysched.inputs import cluster_file
from policysched.offline import offline_cluster
from tests import builders

VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "disk"},
    "spec": {"capacity": {"storage": "1Gi"}, "storageClassName": "fast"},
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data", "namespace": "prod"},
    "spec": {"resources": {"requests": {"storage": "1Gi"}}},
}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "prod"},
}
CAPACITY = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIStorageCapacity",
    "metadata": {"name": "zone-a", "namespace": "kube-system"},
    "storageClassName": "fast",
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "prod"},
    "spec": {
        "nodeName": "n1",
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
    },
}
RESULT = {"driver": "d", "pool": "p", "device": "a", "shareID": "s", "consumedCapacity": {"m": "x"}}
RESOURCE_CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "gpu", "namespace": "prod"},
    "spec": {},
}
DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {},
}
RESOURCE_SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "d",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "a", "capacity": {"m": {"value": "1Gi"}}}],
    },
}


def _with_device(**fields: Any) -> dict[str, Any]:
    device = {"name": "a", **fields}
    return {**RESOURCE_SLICE, "spec": {**RESOURCE_SLICE["spec"], "devices": [device]}}  # type: ignore[dict-item]  # it is a dict


def _fill(*items: dict[str, Any]) -> offline_cluster.OfflineCluster:
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    cluster = offline_cluster.make_empty_cluster(builders.EPOCH)
    offline_cluster.add_cluster_objects(
        cluster, cluster_file.parse_cluster(content.encode(), "f"), "f"
    )
    return cluster


def _elsewhere(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "metadata": {**item["metadata"], "namespace": "other"}}


def test_storage_and_budgets_are_where_plugins_look() -> None:
    """Volumes, claims, capacities, their users and budgets are in the cache, by name."""
    storage = _fill(VOLUME, CLAIM, CAPACITY, _elsewhere(CLAIM), BUDGET, POD).cache.storage
    assert [v.metadata.name for v in storage.volumes.list_group("fast")] == ["disk"]
    assert storage.claims.get("data", "prod") is not None
    assert len(storage.claims) == 2
    assert len(storage.capacities.list_group("fast")) == 1
    assert sum(storage.pods.count_claim_uses("prod", "data").values()) == 1


def test_claims_without_uid_are_different_claims() -> None:
    """The devices of each are in use; a manifest has no uid."""
    claims = [
        {
            **RESOURCE_CLAIM,
            "metadata": {"name": name, "namespace": "prod"},
            "status": {"allocation": {"devices": {"results": [{"device": name}]}}},
        }
        for name in ("a", "b")
    ]
    owned = _fill(*claims).cache.devices.allocated.owned
    assert {each.device for each in owned} == {"a", "b"}


def test_budgets_are_in_the_cache() -> None:
    """Namesakes in two namespaces are two budgets."""
    budgets = _fill(BUDGET, _elsewhere(BUDGET)).cache.budgets
    assert {(b.namespace, b.name) for b in budgets} == {("prod", "web"), ("other", "web")}


@pytest.mark.parametrize(
    "items, message",
    [
        pytest.param([VOLUME, VOLUME], "f: the PersistentVolume `disk` appears twice", id="pv"),
        pytest.param(
            [CLAIM, VOLUME, CLAIM],
            "f: the PersistentVolumeClaim `prod/data` appears twice",
            id="pvc",
        ),
        pytest.param(
            [BUDGET, BUDGET], "f: the PodDisruptionBudget `prod/web` appears twice", id="budget"
        ),
        pytest.param(
            [{**VOLUME, "spec": {"capacity": {"storage": "big"}}}],
            "f: PersistentVolume disk: `big` is not a quantity such as `500m`, `2` or `1Gi`",
            id="capacity-of-a-volume",
        ),
        pytest.param(
            [{**CLAIM, "spec": {"resources": {"requests": {"storage": ""}}}}],
            "f: PersistentVolumeClaim prod/data: `` is not a quantity such as `500m`, `2` or `1Gi`",
            id="request-of-a-claim",
        ),
        pytest.param(
            [{**CAPACITY, "maximumVolumeSize": "1G1"}],
            "f: CSIStorageCapacity kube-system/zone-a: "
            "`1G1` is not a quantity such as `500m`, `2` or `1Gi`",
            id="maximum-of-a-capacity",
        ),
        pytest.param(
            [RESOURCE_CLAIM, RESOURCE_CLAIM],
            "f: the ResourceClaim `prod/gpu` appears twice",
            id="claim",
        ),
        pytest.param(
            [
                {**RESOURCE_CLAIM, "metadata": {"name": name, "namespace": "prod", "uid": "u"}}
                for name in ("one", "two")
            ],
            "f: the ResourceClaim uid `u` appears twice",
            id="uid-of-a-claim",
        ),
        pytest.param(
            [RESOURCE_SLICE, RESOURCE_SLICE], "f: the ResourceSlice `s` appears twice", id="slice"
        ),
        pytest.param(
            [DEVICE_CLASS, DEVICE_CLASS], "f: the DeviceClass `gpu` appears twice", id="class"
        ),
        pytest.param(
            [_with_device(capacity={"m": {"value": "big"}})],
            "f: ResourceSlice s: `big` is not a quantity such as `500m`, `2` or `1Gi`",
            id="capacity-of-a-device",
        ),
        pytest.param(
            [{**RESOURCE_CLAIM, "status": {"allocation": {"devices": {"results": [RESULT]}}}}],
            "f: ResourceClaim prod/gpu: `x` is not a quantity such as `500m`, `2` or `1Gi`",
            id="capacity-that-a-claim-consumes",
        ),
        pytest.param(
            [_with_device(attributes={"x": 1})],
            "f: items[0] (ResourceSlice s): spec.devices[0].attributes[...]:"
            " expected `object`, got `int`",
            id="attribute-without-a-type",
        ),
    ],
)
def test_what_an_api_server_would_refuse_is_an_error(
    items: list[dict[str, Any]], message: str
) -> None:
    """Twins and texts that are no quantities are named by kind and name."""
    with pytest.raises(errors.InputError) as caught:
        _fill(*items)
    assert str(caught.value) == message


def test_devices_are_where_plugins_look() -> None:
    """Slices, classes and claims; claims of the same name in two namespaces are two."""
    other = _elsewhere(RESOURCE_CLAIM)
    devices = _fill(RESOURCE_CLAIM, other, RESOURCE_SLICE, DEVICE_CLASS).cache.devices
    assert {each.full_name for each in devices.claims} == {"prod/gpu", "other/gpu"}
    assert devices.slices.get("s") is not None
    assert devices.classes.get("gpu") is not None


def test_every_kind_of_storage_is_known() -> None:
    """An object of each kind is found in the store of its type."""
    for kind, api_version in storage_objects.API_VERSIONS.items():
        item = {"apiVersion": api_version, "kind": kind.__name__, "metadata": {"name": "x"}}
        assert len(_fill(item).cache.storage.get_store(kind)) == 1
