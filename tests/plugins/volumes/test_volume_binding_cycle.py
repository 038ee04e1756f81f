"""VolumeBinding once a node is chosen: what is promised, written, awaited and given back."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import msgspec
import pytest

from policysched.cluster.objects import objects, storage_objects
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, handles, status
from policysched.plugins.volume_binding import volume_binding
from tests.builders import Cluster, PodBuilder, expression, make_node, node_term
from tests.plugins import asking
from tests.plugins.volumes.volume_worlds import bound, ebs, pod, world
from tests.storage_builders import make_claim, make_class, make_csi_node, make_volume

MANUAL = make_class("manual", provisioner=storage_objects.NO_PROVISIONER)
MADE = make_class("made")
ON_N1 = node_term(expression("kubernetes.io/hostname", "In", "n1"))
ON_N2 = node_term(expression("kubernetes.io/hostname", "In", "n2"))
WAITING = pod.claim("c")
REFUSED = handles.WriteError("the object has been modified")


@dataclasses.dataclass
class Server:
    """Takes writes, and lets the watch tell whatever a test wants to be told next.

    Attributes:
        refuses: names of objects that cannot be written.
        writes: what was written.
        tells: for each time that the plugin waits, objects that the watch shows meanwhile.
        waited_seconds: how long it has waited.
    """

    cluster: Cluster
    refuses: tuple[str, ...] = ()
    writes: list[Any] = dataclasses.field(default_factory=list)
    tells: list[list[Any]] = dataclasses.field(default_factory=list)
    waited_seconds: list[float] = dataclasses.field(default_factory=list)

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        """Refuse: this is not about bindings."""
        return handles.BindError("nothing is bound here")

    async def write_volume(
        self, volume: storage_objects.PersistentVolume
    ) -> storage_objects.PersistentVolume | handles.WriteError:
        """Write a volume."""
        answer: storage_objects.PersistentVolume | handles.WriteError = self._write(volume)
        return answer

    async def write_claim(
        self, claim: storage_objects.PersistentVolumeClaim
    ) -> storage_objects.PersistentVolumeClaim | handles.WriteError:
        """Write a claim."""
        answer: storage_objects.PersistentVolumeClaim | handles.WriteError = self._write(claim)
        return answer

    def _write(self, item: Any) -> Any:
        if item.metadata.name in self.refuses:
            return REFUSED
        self.writes.append(item)
        return versioned(item, "10")

    async def sleep(self, seconds: float) -> None:
        """Let the watch tell the next things."""
        self.waited_seconds.append(seconds)
        for item in self.tells.pop(0) if self.tells else []:
            self.tell(item)

    def tell(self, item: Any) -> None:
        """Let the watch show an object; `gone` objects are deleted, pods bring the deleted one."""
        cache = self.cluster.cache
        match item:
            case Gone(node=True):
                cache.remove_node(item.name)
            case Gone(kind=None):
                cache.forget_pod(self.cluster.info(pod.claim("c")))
            case Gone():
                cache.storage.get_store(item.kind).remove(item.name, item.namespace)
            case objects.Node():
                cache.set_node(item)
            case _:
                cache.storage.get_store(type(item)).set(item)


@dataclasses.dataclass(frozen=True)
class Gone:
    """Something that is deleted: a node, the pod, or a storage object of a kind."""

    name: str = ""
    kind: Any = None
    namespace: str = ""
    node: bool = False


def versioned(item: Any, version: str) -> Any:
    """Return an object in another version."""
    meta = msgspec.structs.replace(item.metadata, resource_version=version)
    return msgspec.structs.replace(item, metadata=meta)


def claim(name: str = "c", **fields: Any) -> Any:
    """Return a claim in version 5."""
    return versioned(make_claim(name, **{"class_name": "manual", **fields}), "5")


def volume(name: str = "v", **fields: Any) -> Any:
    """Return a volume in version 5."""
    return versioned(make_volume(name, **{"class_name": "manual", **fields}), "5")


@dataclasses.dataclass
class Reserved:
    """A pod in its binding cycle."""

    plugin: volume_binding.VolumeBinding
    server: Server
    info: pod_shape.PodInfo
    state: cycle_state.CycleState
    node_name: str

    def pre_bind(self) -> status.Status:
        """Run PreBind to its end."""
        return asyncio.run(self.plugin.pre_bind(self.state, self.info, self.node_name))

    def unreserve(self) -> None:
        """Give everything back."""
        self.plugin.unreserve(self.state, self.info, self.node_name)

    @property
    def has_work(self) -> bool:
        """Whether PreBind says that it has something to do."""
        answer = self.plugin.pre_bind_pre_flight(self.state, self.info, self.node_name)
        assert answer.is_success != answer.is_skip
        return answer.is_success


def reserved(
    *stored: Any,
    waiting: PodBuilder = WAITING,
    node_name: str = "n1",
    timeout_seconds: float = 600.0,
    refuses: tuple[str, ...] = (),
) -> Reserved:
    """Return a pod that is assumed on a node where it fits."""
    cluster = world(*stored).build()
    server = Server(cluster, refuses)
    handle = handles.Handle(server, volume_writer=server, sleep=server.sleep)
    plugin = volume_binding.VolumeBinding(handle, timeout_seconds)
    return reserved_by(plugin, server, waiting, node_name)


def reserved_by(
    plugin: volume_binding.VolumeBinding, server: Server, waiting: PodBuilder, node_name: str
) -> Reserved:
    """Take a pod to where it is assumed on a node."""
    cluster = server.cluster
    info = cluster.info(waiting)
    snap = cluster.cache.snapshot()
    state = asking.state_for(info)
    assert plugin.pre_filter(state, info, snap).status.is_success
    found = asking.answers(plugin.filter(state, info, snap.view_all_rows()))
    assert found[snap.nodes.row_of[node_name]] is None
    cluster.cache.assume_pod(info, node_name)
    assert plugin.reserve(state, info, node_name).is_success
    return Reserved(plugin, server, info, state, node_name)


def assumed_count(found: Reserved) -> int:
    """Return how much is assumed."""
    assumed = found.server.cluster.cache.storage.assumed
    return assumed.volumes.count + assumed.claims.count


# --- Reserve and Unreserve -----------------------------------------------------------------------


def test_a_pod_without_claims_has_nothing_to_do() -> None:
    """What was never asked about a pod answers for it without a look."""
    cluster = world().build()
    server = Server(cluster)
    plugin = volume_binding.VolumeBinding(handles.Handle(server))
    info = cluster.info(pod)
    found = Reserved(plugin, server, info, asking.state_for(info), "n1")
    assert plugin.reserve(found.state, info, "n1").is_success
    assert not found.has_work
    assert found.pre_bind().is_success
    found.unreserve()


def test_bound_claims_need_nothing() -> None:
    """A pod whose claims are all bound has no work before its binding."""
    found = reserved(*bound("c"))
    assert not found.has_work
    assert found.pre_bind().is_success
    assert found.server.writes == []
    assert found.server.waited_seconds == []


@pytest.mark.parametrize(
    "stored, is_annotated",
    [
        pytest.param([volume()], True, id="free"),
        pytest.param(
            [volume(claim=storage_objects.ClaimReference(namespace="default", name="c"))],
            False,
            id="promised by a user, by name alone",
        ),
    ],
)
def test_a_volume_is_promised(stored: list[Any], is_annotated: bool) -> None:
    """The volume has a claimRef at once; the next claim does not find it; then it is free again."""
    found = reserved(MANUAL, claim(), *stored)
    storage = found.server.cluster.cache.storage
    promised = storage.assumed.volumes.get("v")
    assert promised is not None
    assert promised.spec.claim_ref == storage_objects.ClaimReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace="default",
        name="c",
        uid="uid-default-c",
        resource_version="5",
    )
    marks = {storage_objects.BOUND_BY_CONTROLLER: "yes"} if is_annotated else {}
    assert promised.metadata.annotations == marks
    assert found.has_work
    found.unreserve()
    assert storage.assumed.volumes.get("v") is storage.volumes.get("v")
    assert assumed_count(found) == 0


def test_a_claim_is_promised_its_node() -> None:
    """The claim has the annotation at once, and no more when it is given back."""
    found = reserved(MADE, claim(class_name="made"), node_name="n2")
    storage = found.server.cluster.cache.storage
    promised = storage.assumed.claims.get("c", "default")
    assert promised is not None
    assert promised.metadata.annotations == {storage_objects.SELECTED_NODE: "n2"}
    found.unreserve()
    assert storage.assumed.claims.get("c", "default") is storage.claims.get("c", "default")


def test_what_another_pod_has_promised_is_not_given_back() -> None:
    """Of two pods with one claim only the first has promised something."""
    first = reserved(MANUAL, claim(), volume())
    again = pod.meta(name="b", uid="b").claim("c")
    second = reserved_by(first.plugin, first.server, again, "n1")
    assert second.has_work
    second.unreserve()
    assert assumed_count(first) == 1
    first.unreserve()
    assert assumed_count(first) == 0


# --- PreBind: writing ----------------------------------------------------------------------------


def test_everything_is_written_volumes_first() -> None:
    """Volumes of small claims come first, then claims whose volumes are to be made."""
    found = reserved(
        MANUAL,
        MADE,
        claim("c", request="2Gi"),
        claim("small"),
        claim("made", class_name="made"),
        volume("v2", capacity="2Gi"),
        volume("v1"),
        waiting=pod.claim("made").claim("c").claim("small"),
        timeout_seconds=0,
    )
    assert not found.pre_bind().is_success
    assert [item.metadata.name for item in found.server.writes] == ["v1", "v2", "made"]


@pytest.mark.parametrize("refused", ["v", "made"])
def test_a_refused_write_ends_it(refused: str) -> None:
    """The pod fails with the server's words; what was not written is free at once."""
    found = reserved(
        MANUAL,
        MADE,
        claim(),
        claim("made", class_name="made"),
        volume(),
        waiting=pod.claim("c").claim("made"),
        refuses=(refused,),
    )
    answer = found.pre_bind()
    assert (answer.code, answer.reasons) == (status.Code.ERROR, (REFUSED.message,))
    written = [item.metadata.name for item in found.server.writes]
    assert written == ([] if refused == "v" else ["v"])
    found.unreserve()
    assert assumed_count(found) == len(written)
    for item in found.server.writes:
        found.server.tell(versioned(item, "10"))
    assert assumed_count(found) == 0


# --- PreBind: waiting ----------------------------------------------------------------------------


def told(item: Any, version: str = "11", **changes: Any) -> Any:
    """Return what the watch shows of an object after it was written."""
    return versioned(msgspec.structs.replace(item, **changes), version)


PROMISED = storage_objects.ClaimReference(namespace="default", name="c", uid="uid-default-c")
BOUND_CLAIM = told(claim(volume="v", is_bound=True))
NODE = {storage_objects.SELECTED_NODE: "n1"}
PV, PVC = storage_objects.PersistentVolume, storage_objects.PersistentVolumeClaim
STATIC = [
    pytest.param([[told(volume(claim=PROMISED)), BOUND_CLAIM]], "", id="bound"),
    pytest.param([[told(volume(claim=PROMISED))], [], [BOUND_CLAIM]], "", id="bound after a while"),
    pytest.param([[BOUND_CLAIM]], "context deadline exceeded", id="nothing is told of the volume"),
    pytest.param(
        [[told(volume(claim=PROMISED)), told(claim(volume="v"))]],
        "context deadline exceeded",
        id="a volume name alone is not enough",
    ),
    pytest.param(
        [[told(volume(claim=PROMISED, terms=[ON_N2]))]],
        'pv "v" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
        id="the volume moves away",
    ),
    pytest.param([[told(volume())]], 'ClaimRef got reset for pv "v"', id="the promise is broken"),
    pytest.param(
        [[told(volume(claim=storage_objects.ClaimReference(namespace="default", name="c")))]],
        'ClaimRef got reset for pv "v"',
        id="the promise is broken by half",
    ),
    pytest.param(
        [[Gone("v", PV)]],
        'failed to check binding: persistentvolumes "v" not found',
        id="the volume goes",
    ),
    pytest.param(
        [[Gone("c", PVC, "default")]],
        'failed to check binding: persistentvolumeclaims "default/c" not found',
        id="the claim goes",
    ),
    pytest.param([[Gone()]], 'pod does not exist any more: pod "a" not found', id="the pod goes"),
    pytest.param(
        [[Gone("n1", node=True)]],
        'failed to get node "n1": node "n1" not found',
        id="the node goes",
    ),
]


@pytest.mark.parametrize("tells, problem", STATIC)
def test_waiting_for_a_volume_to_be_bound(tells: list[list[Any]], problem: str) -> None:
    """It ends when claim and volume are bound, or when they will not be any more."""
    found = reserved(MANUAL, claim(), volume())
    found.server.tells = tells
    answer = found.pre_bind()
    wanted = (f"binding volumes: {problem}",) if problem else ()
    assert answer.reasons == wanted
    assert answer.code is (status.Code.ERROR if problem else status.Code.SUCCESS)


def selected(version: str = "11", **fields: Any) -> Any:
    """Return what the watch shows of a claim that has its node."""
    marks = {**NODE, **fields.pop("annotations", {})}
    return told(claim(class_name="made", annotations=marks, **fields), version)


DYNAMIC = [
    pytest.param(
        [[selected()], [volume(), selected(volume="v", is_bound=True)]], "", id="made and bound"
    ),
    pytest.param(
        [[selected(volume="v", is_bound=True)], [], [volume()]], "", id="the claim is told of first"
    ),
    pytest.param(
        [[volume(), selected(volume="v")]], "context deadline exceeded", id="made but not bound"
    ),
    pytest.param([], "context deadline exceeded", id="nothing happens"),
    pytest.param(
        [[selected("7", annotations={storage_objects.SELECTED_NODE: "n2"})]],
        "context deadline exceeded",
        id="what came before the write does not count",
    ),
    pytest.param(
        [[told(claim(class_name="made"))]],
        'selectedNode annotation reset for PVC "c"',
        id="no annotation is left",
    ),
    pytest.param(
        [[told(claim(class_name="made", annotations={"other": "x"}))]],
        'provisioning failed for PVC "c"',
        id="the provisioner gives up",
    ),
    pytest.param(
        [[selected(annotations={storage_objects.SELECTED_NODE: "n2"})]],
        'provisioning failed for PVC "c"',
        id="another node is selected",
    ),
    pytest.param(
        [[volume(terms=[ON_N2]), selected(volume="v")]],
        'pv "v" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
        id="made elsewhere",
    ),
    pytest.param(
        [[Gone("c", PVC, "default")]],
        'failed to check provisioning pvc: persistentvolumeclaims "default/c" not found',
        id="the claim goes",
    ),
]


@pytest.mark.parametrize("tells, problem", DYNAMIC)
def test_waiting_for_a_volume_to_be_made(tells: list[list[Any]], problem: str) -> None:
    """It ends when the claim is bound to a volume within reach, or when the node is taken away."""
    found = reserved(MADE, claim(class_name="made"))
    found.server.tells = tells
    answer = found.pre_bind()
    assert answer.reasons == ((f"binding volumes: {problem}",) if problem else ())
    assert answer.is_success == (problem == "")


def test_an_in_tree_volume_is_seen_as_the_csi_driver_sees_it() -> None:
    """Where a CSI driver stands in, the zone is its label while the binding is checked too."""
    zone = node_term(expression("topology.kubernetes.io/zone", "In", "a"))
    found = reserved(MADE, claim(class_name="made"))
    found.server.tells = [
        [
            make_csi_node("n1", migrated=["kubernetes.io/aws-ebs"]),
            make_node("n1").labels({"topology.ebs.csi.aws.com/zone": "a"}).build(),
            volume(terms=[zone], **ebs("vol-1")),
            selected(volume="v", is_bound=True),
        ]
    ]
    assert found.pre_bind().is_success


def test_looks_become_rare_and_end() -> None:
    """The first look comes soon, later ones every second, up to the timeout."""
    found = reserved(MANUAL, claim(), volume(terms=[ON_N1]), timeout_seconds=5)
    assert not found.pre_bind().is_success
    waited = found.server.waited_seconds
    assert waited[:2] == [0.05, 0.1]
    assert max(waited) == 1.0
    assert sum(waited) == pytest.approx(5.0)
