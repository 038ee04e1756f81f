"""A cluster whose devices change at random, for tests of caches."""

from __future__ import annotations

import random

import msgspec

from policysched.cluster.devices import cluster_devices, node_pools
from policysched.cluster.objects import device_objects, objects
from tests import builders
from tests.devices import compare, generate, generate_slices

NODES = (generate_slices.NODE, generate_slices.OTHER_NODE, "n3")


class ChangingCluster:
    """A cluster whose nodes, slices, classes and claims change at random.

    Attributes:
        cluster: the nodes.
        devices: slices, classes and claims.
        pods: pods with one claim each.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        case = msgspec.convert(generate.make_case(rng), compare.Case)
        other = msgspec.convert(generate.make_case(rng), compare.Case)
        self._slices = [*case.slices, *other.slices]
        self._classes = [*case.classes, *other.classes]
        self._allocated = [*case.allocated, *other.allocated]
        self.cluster = builders.make_cache([self._make_node(name) for name in NODES])
        self.devices = self.cluster.cache.devices
        for slice_ in case.slices:
            self.devices.slices.set(slice_)
        for device_class in case.classes:
            self.devices.classes.set(device_class)
        for claim in case.allocated:
            self.devices.claims.set(claim)
        self.pods = [
            self._make_pod(f"pod-{i}", claim)
            for i, claim in enumerate([*case.claims, *other.claims[:1]])
        ]

    def _make_node(self, name: str) -> builders.NodeBuilder:
        kind = {"kind": "x"} if self._rng.random() < 0.5 else {}
        zone = self._rng.choice(generate_slices.ZONES)
        return builders.make_node(name).labels({"zone": zone, **kind})

    def _make_pod(self, name: str, claim: device_objects.ResourceClaim) -> builders.PodBuilder:
        metadata = msgspec.structs.replace(claim.metadata, name=name, uid=f"uid-{name}")
        self.devices.claims.set(msgspec.structs.replace(claim, metadata=metadata))
        use = objects.PodResourceClaim(name="own", resource_claim_name=name)
        return builders.make_pod(name).spec(resource_claims=(use,))

    def copy_devices(self) -> cluster_devices.ClusterDevices:
        """Return the same slices, classes and claims, without cached results."""
        copied = cluster_devices.ClusterDevices()
        copied.slices, copied.classes = self.devices.slices, self.devices.classes
        copied.claims = self.devices.claims
        copied.node_pools = node_pools.NodePools(copied.slices)
        return copied

    def change(self) -> None:
        """Change one thing."""
        self._rng.choice(
            (
                self._change_node,
                self._change_slice,
                self._change_slice,
                self._change_class,
                self._change_claim,
                self._change_claim,
            )
        )()

    def _change_node(self) -> None:
        cache, name = self.cluster.cache, self._rng.choice((*NODES, "n4"))
        if name in cache.snapshot().nodes.row_of and self._rng.random() < 0.3:
            cache.remove_node(name)
        else:
            cache.set_node(self._make_node(name).build())

    def _change_slice(self) -> None:
        rng, known = self._rng, self.devices.slices
        if not self._slices:
            return
        chosen = rng.choice(self._slices)
        if known.get(chosen.metadata.name) is not None and rng.random() < 0.4:
            known.remove(chosen.metadata.name)
            return
        pool = msgspec.structs.replace(chosen.spec.pool, generation=rng.choice((1, 2, 3)))
        if rng.random() < 0.5:
            pool = chosen.spec.pool
        devices = chosen.spec.devices[rng.choice((0, 0, 1)) :]
        spec = msgspec.structs.replace(chosen.spec, pool=pool, devices=devices)
        known.set(msgspec.structs.replace(chosen, spec=spec))

    def _change_class(self) -> None:
        chosen = self._rng.choice(self._classes)
        if self._rng.random() < 0.3:
            self.devices.classes.remove(chosen.metadata.name)
        else:
            self.devices.classes.set(chosen)

    def _change_claim(self) -> None:
        """Allocate or free a device, in one of the ways that a scheduler decides or observes."""
        rng, known = self._rng, self.devices.claims
        if not self._allocated:
            return
        chosen = rng.choice(self._allocated)
        meta = chosen.metadata
        if chosen.allocation is not None and rng.random() < 0.3:
            known.start_allocation(meta.uid, chosen.allocation)
        elif rng.random() < 0.5:
            known.give_up_allocation(chosen)
            known.remove(meta.namespace, meta.name)
        else:
            known.set(chosen)
