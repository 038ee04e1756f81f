"""Pods with claims in virtual time: promised, written, awaited, bound; or given back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from policysched import clock as clocks
from policysched.cluster.objects import objects, storage_objects
from policysched.framework import handles, profile, runtime
from policysched.plugins import defaults, registry
from policysched.scheduler import ports
from policysched.scheduler import scheduler as schedulers
from policysched.sim import api_server, driver, virtual_time, volumes
from tests import builders, storage_builders

NAME = "policysched"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"


class Simulation:
    """The default profile on a cluster of three nodes with volume controllers."""

    def __init__(self, bind_timeout_seconds: int = 600, max_bindings_in_flight: int = 128) -> None:
        self.time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        self.server = api_server.SimulatedApiServer(
            self.time.clock, random.Random(1), self.time.sleep
        )
        self.volumes = volumes.SimulatedVolumeController(self.server, self.time.sleep)
        self.scheduler = schedulers.Scheduler(
            {NAME: self._framework(bind_timeout_seconds)},
            ports.SchedulerPorts(self.server, self.server, self.server, self.time.sleep),
            self.time.clock,
            settings=schedulers.SchedulerSettings(max_bindings_in_flight=max_bindings_in_flight),
        )
        self.driver = driver.SimulationDriver(self.server, self.scheduler, self.time)
        for name in ("n1", "n2", "n3"):
            self.server.nodes.create(builders.make_node(name).capacity(pods=1000).build())
        for provisioner in ("made", storage_objects.NO_PROVISIONER):
            self.store(
                storage_builders.make_class(provisioner.rpartition("/")[2], provisioner=provisioner)
            )

    def _framework(self, bind_timeout_seconds: int) -> runtime.Framework:
        handle = handles.Handle(self.server, volume_writer=self.volumes, sleep=self.time.sleep)
        plugins = []
        for default in defaults.DEFAULT_PLUGINS:
            args = {"bindTimeoutSeconds": bind_timeout_seconds}
            is_ours = default.name == "VolumeBinding"
            plugin = registry.create_built_in_registry().create_plugin(
                default.name, args if is_ours else None, handle
            )
            assert not isinstance(plugin, registry.PluginCreationError)
            plugins.append(plugin)
        prof = profile.Profile(NAME, tuple(plugins), defaults.DEFAULT_WEIGHTS)
        return runtime.Framework(prof, None)

    # --- objects

    def store(self, item: storage_objects.StorageObject) -> None:
        """Create a storage object."""
        self.server.get_storage_collection(type(item)).create(item)

    def claim(self, name: str, class_name: str = "made") -> None:
        """Create a claim."""
        self.store(storage_builders.make_claim(name, class_name=class_name))

    def local_volume(self, name: str, node_name: str) -> None:
        """Create a volume that is on a node."""
        self.store(
            storage_builders.make_volume(
                name,
                class_name="no-provisioner",
                terms=[
                    builders.node_term(
                        builders.expression("kubernetes.io/hostname", "In", node_name)
                    )
                ],
            )
        )

    def pod(self, name: str, *claims: str, priority: int = 0) -> None:
        """Create a pod with claims."""
        uses = tuple(
            objects.Volume(
                name=claim,
                persistent_volume_claim=objects.PersistentVolumeClaimSource(claim_name=claim),
            )
            for claim in claims
        )
        pod = builders.make_pod(name).scheduler_name(NAME).priority(priority).spec(volumes=uses)
        self.server.pods.create(pod.build())

    # --- what became of them

    def node_of(self, name: str) -> str:
        """Return the node of a pod, "" for none."""
        return self.server.pods.get(name, "default").spec.node_name

    def volume_of(self, name: str) -> storage_objects.PersistentVolume | None:
        """Return the volume of a claim."""
        claim = self.get_claim(name)
        found = self.server.get_storage_collection(storage_objects.PersistentVolume)
        return found.find(claim.spec.volume_name)

    def get_claim(self, name: str) -> storage_objects.PersistentVolumeClaim:
        """Return a claim."""
        found = self.server.get_storage_collection(storage_objects.PersistentVolumeClaim)
        return found.get(name, "default")

    def notes(self, pod: str) -> list[str]:
        """Return what was told of a pod."""
        return [event.note for event in self.server.events if event.pod == f"default/{pod}"]

    @property
    def assumed_count(self) -> int:
        """How many volumes and claims are promised and not told of yet."""
        assumed = self.scheduler.cache.storage.assumed
        return assumed.volumes.count + assumed.claims.count


def _run(
    play: Callable[[Simulation], Awaitable[None]],
    bind_timeout_seconds: int = 600,
    max_bindings_in_flight: int = 128,
) -> Simulation:
    async def scenario() -> Simulation:
        simulation = Simulation(bind_timeout_seconds, max_bindings_in_flight)
        await play(simulation)
        return simulation

    return asyncio.run(scenario())


def test_a_volume_is_made_on_the_node_of_the_pod() -> None:
    """The claim gets the node, the pod waits for the volume and is bound where that is."""

    async def play(sim: Simulation) -> None:
        sim.volumes.faults.provision_seconds = 30.0
        sim.claim("data")
        sim.pod("web", "data")
        await sim.driver.advance_time(20.0)
        assert sim.node_of("web") == ""
        assert storage_objects.SELECTED_NODE in sim.get_claim("data").metadata.annotations
        await sim.driver.advance_time(20.0)

    sim = _run(play)
    node_name = sim.node_of("web")
    volume = sim.volume_of("data")
    assert node_name
    assert sim.get_claim("data").metadata.annotations[storage_objects.SELECTED_NODE] == node_name
    assert volume is not None
    assert volume.spec.node_affinity is not None
    assert sim.assumed_count == 0


def test_a_local_volume_draws_the_pod_to_its_node() -> None:
    """A pod goes where a free volume is, which is its claim's from then on."""

    async def play(sim: Simulation) -> None:
        sim.local_volume("disk", "n2")
        sim.claim("data", "no-provisioner")
        sim.pod("web", "data")
        await sim.driver.advance_time(2.0)

    sim = _run(play)
    volume = sim.volume_of("data")
    assert sim.node_of("web") == "n2"
    assert volume is not None
    assert volume.metadata.name == "disk"
    assert volume.metadata.annotations == {storage_objects.BOUND_BY_CONTROLLER: "yes"}
    assert volume.spec.claim_ref == storage_objects.ClaimReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace="default",
        name="data",
        uid="uid-default-data",
        resource_version=volume.spec.claim_ref.resource_version if volume.spec.claim_ref else "",
    )


def test_a_claim_that_is_bound_at_once_is_waited_for() -> None:
    """A pod whose claim is not bound yet, by others, is scheduled when it is."""

    async def play(sim: Simulation) -> None:
        sim.volumes.faults.provision_seconds = 60.0
        sim.store(storage_builders.make_class("at-once", provisioner="made", mode="Immediate"))
        sim.claim("data", "at-once")
        sim.pod("web", "data")
        await sim.driver.advance_time(30.0)
        assert sim.node_of("web") == ""
        await sim.driver.advance_time(60.0)

    sim = _run(play)
    assert sim.node_of("web")
    assert "pod has unbound immediate PersistentVolumeClaims" in sim.notes("web")[0]


def test_pods_race_for_one_volume() -> None:
    """Of several pods that find the same volume one gets it; another volume brings another pod."""

    async def play(sim: Simulation) -> None:
        sim.local_volume("disk", "n2")
        for name in ("a", "b", "c"):
            sim.claim(name, "no-provisioner")
            sim.pod(name, name)
        await sim.driver.advance_time(5.0)
        assert sorted(sim.node_of(name) for name in ("a", "b", "c")) == ["", "", "n2"]
        sim.local_volume("disk-2", "n3")
        await sim.driver.advance_time(30.0)

    sim = _run(play)
    assert sorted(sim.node_of(name) for name in ("a", "b", "c")) == ["", "n2", "n3"]
    assert [n for n in sim.notes("c") if NO_VOLUME in n]


def test_a_provisioner_that_gives_up_lets_the_pod_go() -> None:
    """Without the annotation of the node the binding is off; the next attempt succeeds."""

    async def play(sim: Simulation) -> None:
        sim.volumes.faults.give_up_next = 1
        sim.claim("data")
        sim.pod("web", "data")
        await sim.driver.advance_time(30.0)

    sim = _run(play)
    failed, bound = sim.notes("web")
    problem = 'binding volumes: selectedNode annotation reset for PVC "data"'
    assert failed == f'running PreBind plugin "VolumeBinding": {problem}'
    assert bound.startswith("Successfully assigned default/web")
    assert sim.assumed_count == 0


def test_what_cannot_be_written_is_given_to_others() -> None:
    """A conflict costs the pod the volume that it was promised, and another pod takes it."""

    async def play(sim: Simulation) -> None:
        sim.local_volume("disk", "n2")
        for name, priority in (("first", 10), ("second", 1)):
            sim.claim(name, "no-provisioner")
            sim.pod(name, name, priority=priority)
        sim.volumes.faults.refuse_next = 1
        await sim.driver.advance_time(5.0)

    sim = _run(play)
    assert (sim.node_of("first"), sim.node_of("second")) == ("", "n2")
    assert "the object has been modified" in sim.notes("first")[0]
    assert sim.assumed_count == 0


def test_waiting_has_an_end() -> None:
    """After the timeout the pod is tried again, and finds the volume that is its own by then."""

    async def play(sim: Simulation) -> None:
        sim.local_volume("disk", "n2")
        sim.claim("data", "no-provisioner")
        sim.volumes.faults.bind_seconds = 25.0
        sim.pod("web", "data")
        await sim.driver.advance_time(15.0)
        assert sim.node_of("web") == ""
        await sim.driver.advance_time(30.0)

    sim = _run(play, bind_timeout_seconds=10)
    problem = "binding volumes: context deadline exceeded"
    assert sim.notes("web")[0] == f'running PreBind plugin "VolumeBinding": {problem}'
    assert sim.node_of("web") == "n2"


def test_a_pod_that_is_deleted_while_it_waits() -> None:
    """Nobody waits for the claims of a pod that is gone, and nothing stays promised."""

    async def play(sim: Simulation) -> None:
        sim.volumes.faults.bind_seconds = 1000.0
        sim.local_volume("disk", "n2")
        sim.claim("data", "no-provisioner")
        sim.pod("web", "data")
        await sim.driver.advance_time(5.0)
        sim.server.pods.delete("web", "default")
        await sim.driver.advance_time(5.0)

    sim = _run(play)
    assert sim.scheduler.counters.gone == 1
    assert sim.assumed_count == 0


@pytest.mark.parametrize("how_many", [1, 50])
def test_pods_that_wait_for_volumes_hold_up_nobody(how_many: int) -> None:
    """However many pods wait for their volumes, others are scheduled and bound."""

    async def play(sim: Simulation) -> None:
        sim.volumes.faults.provision_seconds = 300.0
        for number in range(how_many):
            sim.claim(f"data-{number}")
            sim.pod(f"waits-{number}", f"data-{number}", priority=1)
        sim.pod("plain")
        await sim.driver.advance_time(5.0)
        assert sim.node_of("plain")
        assert not any(sim.node_of(f"waits-{number}") for number in range(how_many))
        await sim.driver.advance_time(300.0)

    sim = _run(play, max_bindings_in_flight=1)
    assert all(sim.node_of(f"waits-{number}") for number in range(how_many))


def test_pods_share_a_claim_that_is_under_way() -> None:
    """A second pod of the same claim joins the first one on its node, and both are bound."""

    async def play(sim: Simulation) -> None:
        sim.volumes.faults.provision_seconds = 10.0
        sim.claim("data")
        sim.pod("one", "data")
        await sim.driver.advance_time(1.0)
        sim.pod("two", "data")
        await sim.driver.advance_time(30.0)

    sim = _run(play)
    assert sim.node_of("one") == sim.node_of("two") != ""


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost_whatever_goes_wrong(seed: int) -> None:
    """After conflicts, failures, delays and deletions everything that can be bound is, once."""
    rng = random.Random(seed)
    names = [f"{number}" for number in range(24)]

    async def play(sim: Simulation) -> None:
        for name in names:
            sim.claim(name, rng.choice(("made", "no-provisioner")))
            sim.pod(name, name, priority=rng.randrange(3))
            if rng.random() < 0.4:
                sim.local_volume(f"disk-{name}", f"n{rng.randint(1, 3)}")
        for _ in range(15):
            faults = sim.volumes.faults
            faults.bind_seconds, faults.provision_seconds = rng.random(), 12 * rng.random()
            faults.refuse_next, faults.give_up_next = rng.randrange(3), rng.randrange(3)
            sim.server.faults.fail_next = rng.randrange(2)
            if rng.random() < 0.3:
                sim.server.pods.delete(names.pop(rng.randrange(len(names))), "default")
            await sim.driver.advance_time(4 * rng.random())
        sim.volumes.faults = volumes.VolumeFaults()
        await sim.driver.advance_time(700.0)

    sim = _run(play, bind_timeout_seconds=10)
    assert sim.assumed_count == 0
    for name in names:
        volume, node_name = sim.volume_of(name), sim.node_of(name)
        if node_name:
            assert volume is not None
            assert node_name in str(volume.spec.node_affinity)
        else:
            assert sim.get_claim(name).class_name == "no-provisioner"
    owners = [
        v.spec.claim_ref.uid
        for v in sim.server.get_storage_collection(storage_objects.PersistentVolume)
        if v.spec.claim_ref is not None
    ]
    assert len(owners) == len(set(owners))
    if any(not sim.node_of(name) for name in names):
        found = sim.server.get_storage_collection(storage_objects.PersistentVolume)
        assert all(volume.spec.claim_ref is not None for volume in found)
