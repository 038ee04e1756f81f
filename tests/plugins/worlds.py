"""A generated cluster twice: in the cache and as plain objects, changed alike."""

from __future__ import annotations

import dataclasses

import hypothesis.strategies as st

from policysched.cluster.objects import objects, selectors
from policysched.cluster.pods import owner_selectors, pod_shape
from tests import builders
from tests.plugins import strategies
from tests.reference.cluster import Cluster

NODE_NAMES = tuple(f"n{i}" for i in range(6))
POD_NAMES = tuple(f"p{i}" for i in range(8))


@dataclasses.dataclass
class World:
    """The same cluster for the plugins (`built`) and for the reference (`plain`)."""

    built: builders.Cluster = dataclasses.field(default_factory=builders.make_cache)
    plain: Cluster = dataclasses.field(default_factory=Cluster)

    def set_node(self, node: objects.Node) -> None:
        """Add or replace a node."""
        self.built.cache.set_node(node)
        self.plain.nodes[node.name] = node

    def remove_node(self, name: str) -> None:
        """Remove a node if it exists."""
        self.built.cache.remove_node(name)
        self.plain.nodes.pop(name, None)

    def set_pod(self, pod: objects.Pod) -> None:
        """Add, replace or move a placed pod."""
        self.built.cache.update_pod(self.info(pod))
        self.plain.pods[pod.metadata.uid] = pod

    def remove_pod(self, uid: str) -> None:
        """Remove a placed pod if it exists."""
        pod = self.plain.pods.pop(uid, None)
        if pod is not None:
            self.built.cache.remove_pod(self.info(pod))

    def set_namespace(self, name: str, labels: dict[str, str]) -> None:
        """Add or relabel a namespace."""
        self.built.cache.set_namespace(name, labels)
        self.plain.namespaces[name] = labels

    def set_service(self, namespace: str, labels: dict[str, str]) -> None:
        """Add a service, one a namespace."""
        kind = owner_selectors.OwnerKind.SERVICE
        selector = selectors.from_match_labels(labels)
        self.built.cache.owners.set_selector(kind, namespace, "svc", selector)
        others = [s for s in self.plain.services if s[0] != namespace]
        self.plain.services = [*others, (namespace, labels)]

    def set_replica_set(self, namespace: str, selector: objects.LabelSelector) -> None:
        """Add the ReplicaSet `rs` of a namespace."""
        kind = owner_selectors.OwnerKind.REPLICA_SET
        canonical = selectors.from_label_selector(selector)
        self.built.cache.owners.set_selector(kind, namespace, "rs", canonical)
        self.plain.replica_sets[namespace, "rs"] = selector

    def info(self, pod: objects.Pod) -> pod_shape.PodInfo:
        """Return a pod as the scheduler holds it."""
        return self.built.info(pod)

    @property
    def nodes(self) -> list[objects.Node]:
        """The nodes in the order of their rows."""
        row_of = self.built.cache.nodes.row_of
        return sorted(self.plain.nodes.values(), key=lambda node: row_of[node.name])


@st.composite
def changes(draw: st.DrawFn, world: World, focus: strategies.Focus) -> str:
    """Make one change to both sides; return what it was."""
    kind = draw(
        st.sampled_from(
            ("node", "node", "pod", "pod", "pod", "remove node", "remove pod", "namespace", "owner")
        )
    )
    name = draw(st.sampled_from(NODE_NAMES))
    pod_name = draw(st.sampled_from(POD_NAMES))
    namespace = draw(st.sampled_from(("default", "prod")))
    match kind:
        case "node":
            world.set_node(draw(strategies.nodes(name)))
        case "pod":
            world.set_pod(draw(strategies.pods(pod_name, name, focus)))
        case "remove node":
            world.remove_node(name)
        case "remove pod":
            world.remove_pod(pod_name)
        case "namespace":
            world.set_namespace(namespace, draw(st.sampled_from(({}, {"team": "a"}))))
        case _:
            world.set_service(namespace, {"app": "web"})
            world.set_replica_set(namespace, builders.label_selector(version="1"))
    return f"{kind} {name} {pod_name}"


@st.composite
def worlds(draw: st.DrawFn, focus: strategies.Focus) -> World:
    """Return a cluster after some changes."""
    world = World()
    world.set_namespace("default", {})
    world.set_namespace("prod", {"team": "a"})
    for name in NODE_NAMES[: draw(st.integers(2, 6))]:
        world.set_node(draw(strategies.nodes(name)))
    for name in POD_NAMES[: draw(st.integers(3, 8))]:
        node_name = draw(st.sampled_from(NODE_NAMES))
        world.set_pod(draw(strategies.pods(name, node_name, focus)))
    return world


def some_nodes(world: World) -> st.SearchStrategy[list[objects.Node]]:
    """Return one or more of the nodes."""
    choice = st.sampled_from(world.nodes)
    return st.lists(choice, min_size=1, unique_by=lambda node: node.name)
