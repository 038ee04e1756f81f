"""Storage objects and disruption budgets as a real kube-apiserver shows them."""

from __future__ import annotations

import contextlib
import pathlib
import random
from typing import Any

import pytest

from policysched.cluster.objects import disruption_budgets, objects, selectors, storage_objects
from policysched.cluster.storage import storage as storages
from policysched.kube import errors
from policysched.kube.reading import reflector, resources
from tests.kube.asynchronous import Sleeps, asynchronous
from tests.kube.following import Collection, connected, followed
from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

STORAGE = "/apis/storage.k8s.io/v1"
ZONE_A = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
VOLUME = {
    "metadata": {"name": "disk", "labels": {"topology.kubernetes.io/zone": "a"}},
    "spec": {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "csi": {"driver": "disks.example.com", "volumeHandle": "h1"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [ZONE_A]}},
    },
}
CLAIM = {
    "metadata": {"name": "data", "annotations": {storage_objects.SELECTED_NODE: "n1"}},
    "spec": {
        "accessModes": ["ReadWriteOncePod"],
        "resources": {"requests": {"storage": "5Gi"}},
        "storageClassName": "fast",
    },
}
CLASS = {
    "metadata": {"name": "fast"},
    "provisioner": "disks.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}],
}
CSI_NODE = {
    "metadata": {"name": "n1", "annotations": {storage_objects.MIGRATED_PLUGINS: "p"}},
    "spec": {
        "drivers": [
            {"name": "disks.example.com", "nodeID": "i-1", "allocatable": {"count": 25}},
            {"name": "other.example.com", "nodeID": "i-1"},
        ]
    },
}
DRIVER = {"metadata": {"name": "disks.example.com"}, "spec": {"storageCapacity": True}}
CAPACITY = {
    "metadata": {"name": "zone-a"},
    "storageClassName": "fast",
    "nodeTopology": {"matchLabels": {"zone": "a"}},
    "capacity": "100Gi",
    "maximumVolumeSize": "20Gi",
}
ATTACHMENT = {
    "metadata": {"name": "csi-1"},
    "spec": {
        "attacher": "disks.example.com",
        "nodeName": "n1",
        "source": {"persistentVolumeName": "disk"},
    },
}
CREATED: dict[type[storage_objects.StorageObject], tuple[str, dict[str, Any]]] = {
    storage_objects.PersistentVolume: ("/api/v1/persistentvolumes", VOLUME),
    storage_objects.PersistentVolumeClaim: ("/api/v1/namespaces/{}/persistentvolumeclaims", CLAIM),
    storage_objects.StorageClass: (f"{STORAGE}/storageclasses", CLASS),
    storage_objects.CSINode: (f"{STORAGE}/csinodes", CSI_NODE),
    storage_objects.CSIDriver: (f"{STORAGE}/csidrivers", DRIVER),
    storage_objects.CSIStorageCapacity: (
        f"{STORAGE}/namespaces/{{}}/csistoragecapacities",
        CAPACITY,
    ),
    storage_objects.VolumeAttachment: (f"{STORAGE}/volumeattachments", ATTACHMENT),
}


def create(
    plane: control_planes.ControlPlane, kind: type[storage_objects.StorageObject], namespace: str
) -> str:
    """Create the object of a kind and return its path."""
    collection, manifest = CREATED[kind]
    path = collection.format(namespace)
    plane.client.create(path, manifest)
    return f"{path}/{manifest['metadata']['name']}"


@asynchronous
async def test_storage_objects_are_listed_with_what_scheduling_reads(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Everything that the volume plugins go by arrives from the API server as it was created."""
    for kind in CREATED:
        create(control_plane, kind, namespace)
    storage = storages.Storage()
    async with connected(control_plane, tmp_path) as api:
        for kind, resource in resources.STORAGE.items():
            sink: Collection[Any] = Collection()
            following = reflector.Reflector(api, resource, sink, rng=random.Random(1))
            await following.list_once()
            assert following.skipped_count == 0
            for item in sink.by_name.values():
                storage.get_store(kind).set(item)
    (volume,) = storage.volumes.list_group("fast")
    assert volume.spec.capacity == {"storage": "10Gi"}
    assert volume.spec.csi == storage_objects.CSIVolumeSource(
        driver="disks.example.com", volume_handle="h1"
    )
    assert volume.spec.volume_mode == "Filesystem"
    assert volume.spec.node_affinity == storage_objects.VolumeNodeAffinity(
        required=objects.NodeSelector(
            node_selector_terms=(
                objects.NodeSelectorTerm(
                    match_expressions=(objects.SelectorRequirement("zone", "In", ("a",)),)
                ),
            )
        )
    )
    claim = storage.claims.get("data", namespace)
    assert claim is not None
    assert claim.metadata.annotations[storage_objects.SELECTED_NODE] == "n1"
    assert claim.spec.access_modes == (storage_objects.READ_WRITE_ONCE_POD,)
    assert (claim.class_name, claim.status.phase, claim.spec.volume_name) == ("fast", "Pending", "")
    found_class = storage.classes.get("fast")
    assert found_class is not None
    assert found_class.volume_binding_mode == storage_objects.WAIT_FOR_FIRST_CONSUMER
    assert found_class.allowed_topologies[0].match_label_expressions[0].values == ("a", "b")
    csi_node = storage.csi_nodes.get("n1")
    assert csi_node is not None
    assert csi_node.metadata.annotations == {storage_objects.MIGRATED_PLUGINS: "p"}
    limits = {d.name: d.allocatable and d.allocatable.count for d in csi_node.spec.drivers}
    assert limits == {"disks.example.com": 25, "other.example.com": None}
    driver = storage.drivers.get("disks.example.com")
    assert driver is not None
    assert driver.spec.storage_capacity is True
    (capacity,) = storage.capacities.list_group("fast")
    assert (capacity.capacity, capacity.maximum_volume_size) == ("100Gi", "20Gi")
    assert capacity.node_topology == objects.LabelSelector(match_labels={"zone": "a"})
    (attachment,) = storage.attachments.list_group("n1")
    assert attachment.spec.source.persistent_volume_name == "disk"


@asynchronous
async def test_changes_of_claims_are_watched(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A claim is seen when it comes, while it is being deleted, and when it is gone."""
    kind = storage_objects.PersistentVolumeClaim
    async with (
        connected(control_plane, tmp_path) as api,
        followed(api, resources.STORAGE[kind]) as (claims, following),
    ):
        path = create(control_plane, kind, namespace)
        await claims.until(lambda found: "data" in found)
        control_plane.client.delete(path)  # a finalizer keeps it: pods might use it
        await claims.until(lambda found: found["data"].metadata.deletion_timestamp is not None)
        control_plane.client.patch(path, {"metadata": {"finalizers": None}})
        await claims.until(lambda found: "data" not in found)
        assert claims.replaced == 1
        assert following.skipped_count == 0


@asynchronous
async def test_budgets_are_followed(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A budget is read with its selector and with what the disruption controller writes."""
    path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    selector = {"matchLabels": {"app": "web"}}
    control_plane.client.create(
        path, {"metadata": {"name": "web"}, "spec": {"selector": selector, "minAvailable": 1}}
    )
    status = {
        "disruptionsAllowed": 2,
        "disruptedPods": {"web-1": "2026-01-05T12:00:00Z"},
        "currentHealthy": 3,
        "desiredHealthy": 1,
        "expectedPods": 3,
    }
    known = disruption_budgets.DisruptionBudgets()
    async with (
        connected(control_plane, tmp_path) as api,
        followed(api, resources.BUDGETS) as (budgets, _),
    ):
        control_plane.client.patch(f"{path}/web/status", {"status": status})
        await budgets.until(lambda found: found["web"].status.disruptions_allowed == 2)
        known.set(budgets.by_name["web"])
    assert list(known.list_in_namespace(namespace)) == [
        disruption_budgets.DisruptionBudget(
            namespace=namespace,
            name="web",
            selector=selectors.from_match_labels({"app": "web"}),
            eviction_selector=selectors.from_match_labels({"app": "web"}),
            disruptions_allowed=2,
            disrupted_pods=frozenset({"web-1"}),
        )
    ]


@asynchronous
async def test_what_may_not_be_listed_is_asked_for_again(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Without the right to list a kind its reflector waits for it, and says so."""
    sink: Collection[storage_objects.CSINode] = Collection()
    resource = resources.STORAGE[storage_objects.CSINode]
    sleeps = Sleeps()
    async with connected(control_plane, tmp_path, "nobody") as api:
        following = reflector.Reflector(api, resource, sink, rng=random.Random(1), sleep=sleeps)
        await following.list_or_watch_once()
        assert 'cannot list resource "csinodes"' in str(following.last_error)
        assert len(sleeps) == 1
        assert not following.synced.is_set()
        rule = {"apiGroups": ["storage.k8s.io"], "resources": ["csinodes"]}
        control_plane.grant("nobody", [{**rule, "verbs": ["list", "watch"]}])
        await _list_when_allowed(following)


@asynchronous
async def test_the_roles_of_kube_scheduler_suffice(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """A user with kube-scheduler's two cluster roles may list everything that is followed."""
    for role in ("system:kube-scheduler", "system:volume-scheduler"):
        control_plane.give_role("scheduler", role)
    everything: tuple[resources.ApiResource[Any], ...] = (
        resources.PODS,
        resources.NODES,
        resources.NAMESPACES,
        resources.BUDGETS,
        *resources.OWNERS.values(),
        *resources.STORAGE.values(),
    )
    async with connected(control_plane, tmp_path, "scheduler") as api:
        for resource in everything:
            following = reflector.Reflector(api, resource, Collection(), rng=random.Random(1))
            await _list_when_allowed(following)


async def _list_when_allowed(following: reflector.Reflector[Any]) -> None:
    """List, as soon as the server knows of rights that were given a moment ago."""
    while not following.synced.is_set():
        with contextlib.suppress(errors.ForbiddenError):
            await following.list_once()
