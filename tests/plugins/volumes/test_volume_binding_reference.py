"""VolumeBinding against its scalar reference, on generated clusters that change."""

from __future__ import annotations

import dataclasses
from typing import Any

import hypothesis
import hypothesis.strategies as st
import msgspec

from policysched.cluster.objects import objects, storage_objects
from policysched.framework import cycle_state, handles
from policysched.plugins.volume_binding import volume_binding
from tests import builders, storage_builders
from tests.plugins import asking
from tests.plugins.volumes import volume_strategies, volume_worlds
from tests.reference import volume_binding as reference


class World:
    """One cluster for the plugin and for the reference, changed alike."""

    def __init__(self) -> None:
        self.built = builders.make_cache()
        self.nodes: dict[str, objects.Node] = {}
        self.plain = reference.Stored()
        self.versions = 0
        self.plugin = volume_binding.VolumeBinding(handles.Handle(volume_worlds.NoBinder()))

    def set_node(self, node: objects.Node) -> None:
        """Add or change a node."""
        self.built.cache.set_node(node)
        self.nodes[node.name] = node

    def remove_node(self, name: str) -> None:
        """Remove a node if it exists."""
        self.built.cache.remove_node(name)
        self.nodes.pop(name, None)

    def store(self, item: Any) -> None:
        """Let the watch show an object in a new version."""
        self.versions += 1
        meta = msgspec.structs.replace(item.metadata, resource_version=str(self.versions))
        told = msgspec.structs.replace(item, metadata=meta)
        storage_builders.store(self.built.cache.storage, told)
        self.plain_of(told)[_plain_key(told)] = told

    def forget(self, item: Any) -> None:
        """Let the watch show that an object is gone."""
        meta = item.metadata
        self.built.cache.storage.get_store(type(item)).remove(meta.name, meta.namespace)
        self.plain_of(item).pop(_plain_key(item), None)

    def plain_of(self, item: Any) -> dict[Any, Any]:
        """Return where the reference keeps such objects."""
        kinds: dict[type[Any], dict[Any, Any]] = {
            storage_objects.PersistentVolume: self.plain.volumes,
            storage_objects.PersistentVolumeClaim: self.plain.claims,
            storage_objects.StorageClass: self.plain.classes,
            storage_objects.CSINode: self.plain.csi_nodes,
            storage_objects.CSIDriver: self.plain.drivers,
            storage_objects.CSIStorageCapacity: self.plain.capacities,
        }
        return kinds[type(item)]


def _plain_key(item: Any) -> Any:
    meta = item.metadata
    return (meta.namespace, meta.name) if isinstance(item, reference.Claim) else meta.name


# --- the tests -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Asked:
    """A pod that passed PreFilter, and its cycle."""

    pod: objects.Pod
    state: cycle_state.CycleState


def check(world: World, pod: objects.Pod) -> Asked | None:
    """Compare all answers about a pod; return its cycle unless PreFilter ended it."""
    info = world.built.info(pod)
    snap = world.built.cache.snapshot()
    state = asking.state_for(info)
    said = world.plugin.pre_filter(state, info, snap).status
    wanted = reference.pre_filter(pod, world.plain)
    assert (None if said.is_success else (said.code.value, said.reasons)) == wanted
    if wanted is not None:
        return None
    found = asking.answers(world.plugin.filter(state, info, snap.view_all_rows()))
    row_of = snap.nodes.row_of
    for name, node in world.nodes.items():
        answer, _ = reference.filter_node(pod, node, world.plain)
        assert found[row_of[name]] == answer, name
    return Asked(pod, state)


def reserve(world: World, asked: Asked, node_name: str) -> None:
    """Reserve on a node, for both; compare what the claims get."""
    _, found = reference.filter_node(asked.pod, world.nodes[node_name], world.plain)
    info = world.built.info(asked.pod)
    assert world.plugin.reserve(asked.state, info, node_name).is_success
    assumed = world.built.cache.storage.assumed
    for volume_name, claim_name in found.bindings:
        claim = world.plain.claims["default", claim_name]
        volume = assumed.volumes.get(volume_name)
        assert volume is not None
        assert volume.spec.claim_ref is not None
        assert volume.spec.claim_ref.uid == claim.metadata.uid
        world.plain.volumes[volume_name] = volume
    for claim_name in found.provisions:
        promised = assumed.claims.get(claim_name, "default")
        assert promised is not None
        assert promised.metadata.annotations[storage_objects.SELECTED_NODE] == node_name
        world.plain.claims["default", claim_name] = promised


def _class(data: st.DataObject, name: str) -> storage_objects.StorageClass:
    provisioners = (volume_strategies.PROVISIONER, storage_objects.NO_PROVISIONER)
    return storage_builders.make_class(name, provisioner=data.draw(st.sampled_from(provisioners)))


def _change(data: st.DataObject, world: World) -> None:
    kind = data.draw(
        st.sampled_from(("store", "store", "store", "store", "forget", "node", "node", "no node"))
    )
    name = data.draw(st.sampled_from(volume_strategies.NODES))
    match kind:
        case "store":
            world.store(data.draw(volume_strategies.stored_objects()))
        case "forget":
            world.forget(data.draw(volume_strategies.stored_objects()))
        case "node":
            world.set_node(data.draw(volume_strategies.nodes(name)))
        case _:
            world.remove_node(name)


@hypothesis.given(st.data())
def test_answers_follow_every_change(data: st.DataObject) -> None:
    """PreFilter and Filter agree with the reference, whatever they remember from before."""
    world = World()
    for name in volume_strategies.NODES:
        world.set_node(data.draw(volume_strategies.nodes(name)))
    for name in volume_strategies.CLASSES:
        world.store(_class(data, name))
    for item in data.draw(st.lists(volume_strategies.volumes(), max_size=10)):
        world.store(item)
    for name in volume_strategies.CLAIMS:
        world.store(data.draw(volume_strategies.usable_claims(name)))
    pods = data.draw(st.lists(volume_strategies.pods(), min_size=1, max_size=3))
    for _ in range(6):
        for pod in pods:
            check(world, pod)
        _change(data, world)


@hypothesis.given(st.data())
def test_what_is_reserved_is_taken(data: st.DataObject) -> None:
    """A volume that one pod got is seen by the next ones as promised, until it is given back."""
    world = World()
    for name in volume_strategies.NODES:
        world.set_node(data.draw(volume_strategies.nodes(name)))
    world.store(_class(data, "local"))
    for item in data.draw(st.lists(volume_strategies.volumes(), min_size=3, max_size=10)):
        world.store(item)
    for name in volume_strategies.CLAIMS:
        world.store(
            storage_builders.make_claim(name, class_name="local", owner_uid="uid-default-p")
        )
    before = dataclasses.replace(
        world.plain, volumes=dict(world.plain.volumes), claims=dict(world.plain.claims)
    )
    reserved = []
    for _ in range(3):
        asked = check(world, data.draw(volume_strategies.pods()))
        if asked is None:
            continue
        fits = [
            name
            for name, node in world.nodes.items()
            if reference.filter_node(asked.pod, node, world.plain)[0] is None
        ]
        if fits:
            name = data.draw(st.sampled_from(fits))
            reserve(world, asked, name)
            reserved.append((asked, name))
    for asked, name in data.draw(st.permutations(reserved)):
        world.plugin.unreserve(asked.state, world.built.info(asked.pod), name)
    assumed = world.built.cache.storage.assumed
    assert (assumed.volumes.count, assumed.claims.count) == (0, 0)
    world.plain = before
    check(world, data.draw(volume_strategies.pods()))
