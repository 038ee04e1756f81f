"""Storage objects by name and group, what they say of themselves, and the claims of pods."""

from __future__ import annotations

import msgspec
import pytest

from policysched.cluster.objects import disruption_budgets as budgets
from policysched.cluster.objects import objects, selectors, storage_objects, volume_sources
from policysched.cluster.pods import pod_shape, storage_requests
from policysched.cluster.storage import storage as storages
from tests import builders
from tests import storage_builders as build

BETA = {storage_objects.BETA_STORAGE_CLASS: "old"}
SHAPES = pod_shape.PodShapeCache()


def names(items: object) -> list[str]:
    """Return the names of objects."""
    assert isinstance(items, tuple)
    return [item.metadata.name for item in items]


class TestStores:
    """The stores of `Storage`."""

    def test_every_kind_has_a_store_of_its_own(self) -> None:
        """An object is found by its name and namespace in the store of its type."""
        storage = storages.Storage()
        items: list[storage_objects.StorageObject] = [
            build.make_volume("x"),
            build.make_claim("x", "ns"),
            build.make_class("x"),
            build.make_csi_node("x"),
            build.make_driver("x"),
            build.make_capacity("x", "c", "1Gi"),
            build.make_attachment("x", "n1", "x"),
        ]
        build.store(storage, *items)
        assert {type(item) for item in items} == set(storage_objects.API_VERSIONS)
        for item in items:
            store = storage.get_store(type(item))
            assert list(store) == [item]
            assert store.get("x", item.metadata.namespace) is item
            assert store.get("x", "elsewhere") is None

    def test_volumes_are_grouped_by_class(self) -> None:
        """A volume that changes its class changes its group; one that goes is in none."""
        volumes = storages.Storage().volumes
        for item in (build.make_volume("a", class_name="fast"), build.make_volume("b")):
            volumes.set(item)
        volumes.set(build.make_volume("c", class_name="fast"))
        volumes.set(build.make_volume("a", class_name="fast", capacity="2Gi"))
        assert names(volumes.list_group("fast")) == ["a", "c"]
        assert volumes.list_group("fast")[0].spec.capacity == {"storage": "2Gi"}
        volumes.set(build.make_volume("a"))
        assert names(volumes.list_group("fast")) == ["c"]
        assert names(volumes.list_group("")) == ["b", "a"]
        volumes.remove("c")
        assert volumes.list_group("fast") == ()

    def test_attachments_and_capacities_are_grouped(self) -> None:
        """Attachments are found by node, capacities by class."""
        storage = storages.Storage()
        build.store(
            storage,
            build.make_attachment("a1", "n1", "v1"),
            build.make_attachment("a2", "n2", "v2"),
            build.make_capacity("c1", "fast", "1Gi"),
            build.make_capacity("c2", "slow", "1Gi"),
        )
        assert names(storage.attachments.list_group("n2")) == ["a2"]
        assert names(storage.capacities.list_group("fast")) == ["c1"]

    def test_set_and_remove_return_what_was_there(self) -> None:
        """Who compares versions gets the old one."""
        claims = storages.Storage().claims
        first, second = build.make_claim("c"), build.make_claim("c", volume="v")
        assert claims.set(first) is None
        assert claims.set(second) is first
        assert claims.remove("c") is None
        assert claims.remove("c", "default") is second
        assert len(claims) == 0

    def test_generations_grow_with_changes_only(self) -> None:
        """What is derived from a store is good while its generation stays."""
        storage = storages.Storage()
        seen = [storage.generation]
        storage.claims.set(build.make_claim("c"))
        seen.append(storage.generation)
        storage.claims.remove("c", "default")
        seen.append(storage.generation)
        assert len(set(seen)) == 3
        volumes = storage.volumes.generation
        storage.claims.remove("c", "default")
        assert (storage.generation, storage.volumes.generation) == (seen[-1], volumes)


class TestObjects:
    """Properties of wire objects."""

    @pytest.mark.parametrize(
        "item, class_name",
        [
            pytest.param(build.make_claim("c"), "", id="claim without"),
            pytest.param(build.make_claim("c", class_name=""), "", id="claim of no class"),
            pytest.param(build.make_claim("c", class_name="fast"), "fast", id="claim"),
            pytest.param(
                build.make_claim("c", class_name="fast", annotations=BETA), "old", id="beta claim"
            ),
            pytest.param(build.make_volume("v", class_name="fast"), "fast", id="volume"),
            pytest.param(
                build.make_volume("v", class_name="fast", meta={"annotations": BETA}),
                "old",
                id="beta volume",
            ),
        ],
    )
    def test_class_name(
        self,
        item: storage_objects.PersistentVolume | storage_objects.PersistentVolumeClaim,
        class_name: str,
    ) -> None:
        """The old annotation is stronger than the field."""
        assert item.class_name == class_name

    @pytest.mark.parametrize(
        "claim, is_fully_bound",
        [
            pytest.param(build.make_claim("c"), False, id="unbound"),
            pytest.param(build.make_claim("c", volume="v"), False, id="binding"),
            pytest.param(build.make_claim("c", is_bound=True), False, id="volume unset"),
            pytest.param(build.make_claim("c", volume="v", is_bound=True), True, id="bound"),
        ],
    )
    def test_fully_bound(
        self, claim: storage_objects.PersistentVolumeClaim, is_fully_bound: bool
    ) -> None:
        """A claim is bound when it names its volume and the controller is done."""
        assert claim.is_fully_bound == is_fully_bound

    def test_owner_of_an_ephemeral_claim(self) -> None:
        """Only the controlling owner counts, by uid."""
        claim = build.make_claim("c", owner_uid="u1")
        assert claim.is_owned_by("u1")
        assert not claim.is_owned_by("u2")
        assert not build.make_claim("c").is_owned_by("")

    def test_quantities(self) -> None:
        """All amounts are found, wherever a kind has them."""
        assert list(storage_objects.list_quantities(build.make_volume("v", capacity="3Gi"))) == [
            "3Gi"
        ]
        assert list(storage_objects.list_quantities(build.make_claim("c", request="2Gi"))) == [
            "2Gi"
        ]
        capacity = build.make_capacity("c", "fast", "5Gi", maximum="1Gi")
        assert list(storage_objects.list_quantities(capacity)) == ["5Gi", "1Gi"]
        assert list(storage_objects.list_quantities(build.make_class("fast"))) == []

    def test_wire_names(self) -> None:
        """Fields are read under the names that the API gives them."""
        text = """{"metadata": {"name": "v"}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast", "volumeMode": "Block", "volumeAttributesClassName": "gold",
            "claimRef": {"namespace": "ns", "name": "c", "uid": "u"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}},
            "csi": {"driver": "d", "volumeHandle": "h", "fsType": "ext4"},
            "gcePersistentDisk": {"pdName": "pd"}, "awsElasticBlockStore": {"volumeID": "vol"},
            "azureDisk": {"diskName": "n", "diskURI": "uri", "kind": "Managed"},
            "azureFile": {"secretName": "s", "shareName": "sh", "secretNamespace": "sn"},
            "cinder": {"volumeID": "cin"}, "vsphereVolume": {"volumePath": "path"},
            "portworxVolume": {"volumeID": "px"}}, "status": {"phase": "Bound"}}"""
        volume = msgspec.json.decode(text, type=storage_objects.PersistentVolume)
        spec = volume.spec
        assert spec.claim_ref == storage_objects.ClaimReference(namespace="ns", name="c", uid="u")
        assert spec.csi == storage_objects.CSIVolumeSource(driver="d", volume_handle="h")
        assert (spec.volume_mode, spec.volume_attributes_class_name) == ("Block", "gold")
        assert spec.node_affinity == storage_objects.VolumeNodeAffinity(
            required=objects.NodeSelector(
                node_selector_terms=(
                    builders.node_term(objects.SelectorRequirement("zone", "In", ("a",))),
                )
            )
        )
        assert spec.gce_persistent_disk == volume_sources.GCEPersistentDisk(pd_name="pd")
        assert spec.aws_elastic_block_store == volume_sources.AWSElasticBlockStore(volume_id="vol")
        assert spec.azure_disk == volume_sources.AzureDisk(disk_uri="uri", kind="Managed")
        assert spec.azure_file == volume_sources.AzureFile(
            secret_name="s", share_name="sh", secret_namespace="sn"
        )
        assert spec.cinder == volume_sources.Cinder(volume_id="cin")
        assert spec.vsphere_volume == volume_sources.VsphereVolume(volume_path="path")
        assert spec.portworx_volume == volume_sources.PortworxVolume(volume_id="px")
        assert volume.status.phase == "Bound"


class TestClaimsOfPods:
    """`PodShape.claims` and what pods with volumes share."""

    def test_claims(self) -> None:
        """Claims are named in order; an ephemeral volume's is named after pod and volume."""
        pod = builders.make_pod("web").claim("data", read_only=True).volume("empty")
        info = SHAPES.make_pod_info(pod.ephemeral("scratch").build())
        assert info.shape.claims == (
            storage_requests.ClaimUse("v0", "data", read_only=True),
            storage_requests.ClaimUse("scratch", "web-scratch", is_ephemeral=True),
        )

    def test_pods_with_equal_claims_share_a_shape(self) -> None:
        """A named claim is the same for all pods that name it."""
        first, second = (builders.make_pod(name).claim("data").build() for name in "ab")
        assert SHAPES.intern_shape(first) is SHAPES.intern_shape(second)

    def test_ephemeral_volumes_make_a_pod_single(self) -> None:
        """Claims that are named after the pod and owned by it are no other pod's, even namesakes'.

        A new version of the same pod has the shape of the old one.
        """
        one = builders.make_pod("a").ephemeral("scratch")
        assert SHAPES.intern_shape(one.build()) is not SHAPES.intern_shape(one.uid("other").build())
        other = SHAPES.make_pod_info(builders.make_pod("b").ephemeral("scratch").build())
        assert other.shape.claims[0].claim_name == "b-scratch"
        assert SHAPES.intern_shape(one.build()) is SHAPES.intern_shape(one.node("n1").build())

    @pytest.mark.parametrize(
        "pod, has_volumes",
        [
            pytest.param(builders.make_pod("a"), False, id="none"),
            pytest.param(builders.make_pod("a").volume("empty"), False, id="emptyDir"),
            pytest.param(
                builders.make_pod("a").volume(image=objects.ImageVolume(reference="x")),
                False,
                id="image",
            ),
            pytest.param(builders.make_pod("a").claim("c"), True, id="claim"),
            pytest.param(builders.make_pod("a").ephemeral("e"), True, id="ephemeral"),
            pytest.param(
                builders.make_pod("a").volume(csi=objects.CSIVolume(driver="d")), True, id="csi"
            ),
            pytest.param(
                builders.make_pod("a").volume(cinder=volume_sources.Cinder(volume_id="x")),
                True,
                id="in-tree",
            ),
        ],
    )
    def test_has_volumes(self, pod: builders.PodBuilder, has_volumes: bool) -> None:
        """Volumes that no plugin reads are none."""
        assert SHAPES.intern_shape(pod.build()).has_volumes == has_volumes


class TestBudgets:
    """PodDisruptionBudgets."""

    @pytest.mark.parametrize(
        "selector, guarded",
        [
            pytest.param(None, selectors.NOTHING, id="absent"),
            pytest.param(builders.label_selector(), selectors.NOTHING, id="empty"),
            pytest.param(
                builders.label_selector(objects.SelectorRequirement("a", "Near", ("b",))),
                selectors.NOTHING,
                id="malformed",
            ),
            pytest.param(
                builders.label_selector(app="web"),
                selectors.from_match_labels({"app": "web"}),
                id="labels",
            ),
        ],
    )
    def test_selector(
        self, selector: objects.LabelSelector | None, guarded: selectors.Selector
    ) -> None:
        """A budget guards the pods it selects, and none where it says nothing."""
        known = budgets.DisruptionBudgets()
        known.set(build.make_budget("b", selector=selector))
        found = known.get("default", "b")
        assert found is not None
        assert found.selector == guarded

    def test_budgets_of_a_namespace(self) -> None:
        """Budgets are kept by namespace, replaced by name, and counted."""
        known = budgets.DisruptionBudgets()
        known.set(build.make_budget("b", allowed=1))
        known.set(build.make_budget("b", allowed=2, disrupted=["p"]))
        known.set(build.make_budget("b", "other"))
        (found,) = known.list_in_namespace("default")
        assert (found.disruptions_allowed, found.disrupted_pods) == (2, frozenset({"p"}))
        assert (len(known), len(list(known))) == (2, 2)
        assert known.list_in_namespace("none") == ()

    def test_removal(self) -> None:
        """A budget that goes is gone; one that is not known is not missed."""
        known = budgets.DisruptionBudgets()
        known.set(build.make_budget("b"))
        generation = known.generation
        assert not known.remove("other", "b")
        assert known.generation == generation
        assert known.remove("default", "b")
        assert known.get("default", "b") is None
        assert known.generation > generation
