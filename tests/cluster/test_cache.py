"""The cache against a naive picture of the same cluster, under random sequences of changes."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import objects, selectors
from policysched.cluster.pods import pod_shape
from tests import builders, examples

NODES = st.sampled_from([f"n{i}" for i in range(5)])
PODS = st.sampled_from([f"p{i}" for i in range(8)])
TEAM = builders.pod_term("zone", {"app": "a"}, namespace_selector={"team": "x"})
OWN = builders.pod_term("zone", {"app": "b"})

QUERIES: list[pod_counts.PodQuery] = [
    pod_counts.NonTerminatingPodsInNamespace("ns1", selectors.from_match_labels({"app": "a"})),
    pod_counts.NonTerminatingPodsInNamespace("ns2", selectors.EVERYTHING),
    pod_counts.PodsMatchingAllTerms((pod_shape.make_affinity_term(TEAM, "ns1"),)),
    pod_counts.PodsMatchingAllTerms(
        (pod_shape.make_affinity_term(TEAM, "ns1"), pod_shape.make_affinity_term(OWN, "ns2"))
    ),
]


@dataclasses.dataclass
class Placed:
    """A pod of the naive picture."""

    info: pod_shape.PodInfo
    node_name: str
    is_assumed: bool


@st.composite
def pods(draw: st.DrawFn, name: str) -> builders.PodBuilder:
    """Draw a pod: requests, labels, ports, terms of its own, perhaps terminating."""
    pod = builders.make_pod(name, draw(st.sampled_from(["ns1", "ns2"])))
    pod = pod.uid(name).labels(app=draw(st.sampled_from(["a", "b"])))
    pod = pod.requests({"cpu": draw(st.sampled_from(["1", "250m"])), "example.com/gpu": 2})
    if draw(st.booleans()):
        pod = pod.requests({f"example.com/device-{i}": 1 for i in range(4)})
    for claim in draw(st.sampled_from(["", "c", "cc", "cd"])):
        pod = pod.claim(claim)
    pod = pod.ephemeral("scratch") if draw(st.booleans()) else pod
    if draw(st.booleans()):
        pod = pod.host_port(80).rejects_pods(OWN).prefers_pods(7, TEAM)
    return pod.terminating() if draw(st.booleans()) else pod


class CacheMachine(RuleBasedStateMachine):
    """Every rule does the same to the cache and to plain dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = caches.Cache(clocks.ManualClock(builders.EPOCH))
        self.shapes = pod_shape.PodShapeCache()
        self.nodes: dict[str, objects.Node] = {}
        self.pods: dict[str, Placed] = {}
        self.namespaces: dict[str, dict[str, str]] = {}

    # --- changes

    @rule(
        name=NODES,
        zone=st.sampled_from(["a", "b", ""]),
        cpu=st.integers(1, 4),
        tainted=st.booleans(),
    )
    def set_node(self, name: str, zone: str, cpu: int, tainted: bool) -> None:
        """Add or change a node."""
        node = builders.make_node(name).capacity(cpu=cpu)
        node = node.labels(zone=zone) if zone else node
        self.nodes[name] = (node.taint("t") if tainted else node).build()
        self.cache.set_node(self.nodes[name])

    @rule(count=st.integers(1, 70))
    def add_many_nodes(self, count: int) -> None:
        """Grow over the first capacity of the columns."""
        for i in range(count):
            node = builders.make_node(f"many{i}").labels(zone="c").build()
            self.nodes[node.name] = node
            self.cache.set_node(node)

    @rule(name=NODES)
    def remove_node(self, name: str) -> None:
        """Delete a node, pods or not."""
        self.nodes.pop(name, None)
        self.cache.remove_node(name)

    @rule()
    def remove_many_nodes(self) -> None:
        """Leave rows to be used again."""
        for name in [name for name in self.nodes if name.startswith("many")]:
            self.nodes.pop(name)
            self.cache.remove_node(name)

    @rule(data=st.data(), uid=PODS, node_name=NODES)
    def add_or_update_pod(self, data: st.DataObject, uid: str, node_name: str) -> None:
        """The watch shows a pod, wherever the cache has it."""
        info = self.shapes.make_pod_info(data.draw(pods(uid)).node(node_name).build())
        data.draw(st.sampled_from([self.cache.add_pod, self.cache.update_pod]))(info)
        self.pods[uid] = Placed(info, node_name, is_assumed=False)

    @rule(data=st.data(), places=st.dictionaries(PODS, NODES))
    def add_unknown_pods(self, data: st.DataObject, places: dict[str, str]) -> None:
        """Several pods of which nothing is known come in one go, as from a file."""
        infos = [
            self.shapes.make_pod_info(data.draw(pods(uid)).node(node_name).build())
            for uid, node_name in places.items()
            if uid not in self.pods
        ]
        self.cache.add_pods(infos)
        for info in infos:
            self.pods[info.uid] = Placed(info, info.pod.spec.node_name, is_assumed=False)

    @rule(data=st.data(), uid=PODS, node_name=NODES)
    def assume_pod(self, data: st.DataObject, uid: str, node_name: str) -> None:
        """Assume a pod; twice is refused."""
        info = self.shapes.make_pod_info(data.draw(pods(uid)).build())
        if uid in self.pods:
            with pytest.raises(ValueError, match="already in the cache"):
                self.cache.assume_pod(info, node_name)
            return
        self.cache.assume_pod(info, node_name)
        self.pods[uid] = Placed(info, node_name, is_assumed=True)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def confirm_pod(self, data: st.DataObject) -> None:
        """The watch shows a pod where it is counted, otherwise unchanged."""
        placed = data.draw(st.sampled_from(sorted(self.pods.items())))[1]
        pod = builders.PodBuilder(placed.info.pod).node(placed.node_name).build()
        info = self.shapes.make_pod_info(pod)
        self.cache.update_pod(info)
        self.pods[info.uid] = Placed(info, placed.node_name, is_assumed=False)

    @rule(data=st.data(), uid=PODS)
    def forget_pod(self, data: st.DataObject, uid: str) -> None:
        """Undo an assumption; a confirmed pod stays."""
        info = self.shapes.make_pod_info(data.draw(pods(uid)).build())
        is_assumed = uid in self.pods and self.pods[uid].is_assumed
        assert self.cache.forget_pod(info) == is_assumed
        if is_assumed:
            del self.pods[uid]

    @rule(data=st.data(), uid=PODS)
    def remove_pod(self, data: st.DataObject, uid: str) -> None:
        """The watch deletes a pod."""
        info = self.shapes.make_pod_info(data.draw(pods(uid)).build())
        assert self.cache.remove_pod(info) == (uid in self.pods)
        self.pods.pop(uid, None)

    @rule(name=st.sampled_from(["ns1", "ns2"]), team=st.sampled_from(["x", "y", None]))
    def set_namespace(self, name: str, team: str | None) -> None:
        """Label a namespace, or delete it."""
        if team is None:
            self.namespaces.pop(name, None)
            self.cache.set_namespace(name, None)
        else:
            self.namespaces[name] = {"team": team}
            self.cache.set_namespace(name, {"team": team})

    @rule(index=st.integers(0, len(QUERIES) - 1))
    def ask(self, index: int) -> None:
        """A query that is asked once is kept up to date from then on."""
        self.cache.counts.get_column(QUERIES[index])

    # --- the naive picture

    def on(self, node_name: str) -> list[Placed]:
        """Return the pods of a node."""
        return [placed for placed in self.pods.values() if placed.node_name == node_name]

    def rows(self) -> Iterator[tuple[int, str]]:
        """Return the rows in use and their names."""
        for row, name in enumerate(self.cache.nodes.names):
            if name:
                yield row, name

    def by_name(self, counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[str, int]:
        """Return the counts that are not zero by node name."""
        return {name: int(counts[row]) for row, name in self.rows() if counts[row]}

    @invariant()
    def rows_are_nodes_and_places_of_pods(self) -> None:
        """A row is a node, or a place of pods whose node is unknown."""
        named = [name for _, name in self.rows()]
        assert sorted(named) == sorted({*self.nodes, *(p.node_name for p in self.pods.values())})
        alive = {name for row, name in self.rows() if self.cache.nodes.is_alive[row]}
        assert alive == set(self.nodes)
        assert self.cache.nodes.alive_count == len(self.nodes)
        assert self.cache.nodes.row_of == {name: row for row, name in self.rows()}

    @invariant()
    def usage_is_the_sum_of_the_pods(self) -> None:
        """Requests and pod counts of every row are those of its pods."""
        columns = self.cache.nodes
        for row, name in self.rows():
            total: collections.Counter[str] = collections.Counter()
            for placed in self.on(name):
                total.update(placed.info.shape.requests.amounts)
            counted = {
                resource: int(amount)
                for resource, amount in zip(
                    columns.resources.values, columns.requested[row], strict=False
                )
                if amount
            }
            assert counted | columns.absent_resources.get_amounts(row) == +total
            assert columns.pod_count[row] == len(self.on(name))
            cpu = sum(p.info.shape.requests.nonzero_cpu_milli for p in self.on(name))
            assert columns.nonzero_requested[row, 0] == cpu
            ours = {info.uid for info in self.cache.get_pods_on_row(row)}
            assert ours == {placed.info.uid for placed in self.on(name)}

    @invariant()
    def free_rows_hold_nothing(self) -> None:
        """A row that is nobody's starts from zero."""
        columns = self.cache.nodes
        free = [row for row, name in enumerate(columns.names) if not name]
        assert not columns.is_alive[free].any()
        assert not columns.requested[free].any()
        assert not columns.pod_count[free].any()

    @invariant()
    def nodes_show_what_they_have(self) -> None:
        """Labels, allocatable and taints are those of the node object."""
        columns = self.cache.nodes
        zone = columns.get_label_column("zone")
        for row, name in self.rows():
            node = self.nodes.get(name)
            value = zone.values.values[zone.ids[row]] if zone.ids[row] >= 0 else None
            assert value == (node.metadata.labels.get("zone") if node else None)
            if node is not None:
                assert (
                    columns.allocatable[row, 0] == int(node.status.allocatable.get("cpu", 0)) * 1000
                )
                assert columns.taint_sets.values[columns.taint_set_ids[row]] == node.spec.taints

    @invariant()
    def taken_ports_are_those_of_the_pods(self) -> None:
        """A host port is taken exactly where a pod claims it."""
        port = pod_shape.HostPort("0.0.0.0", "TCP", 80)  # noqa: S104 - any address, as the API says
        taken = self.cache.nodes.ports.find_nodes_with_port_conflicts(
            (port,), self.cache.nodes.size
        )
        expected = {
            placed.node_name for placed in self.pods.values() if placed.info.shape.host_ports
        }
        assert {name for row, name in self.rows() if taken[row]} == expected

    @invariant()
    def pods_with_volumes_are_found_by_row_and_by_claim(self) -> None:
        """Pods with volumes are where they should be; claims are counted as often as named."""
        kept = self.cache.storage.pods
        for row, name in self.rows():
            expected = {p.info.uid for p in self.on(name) if p.info.pod.spec.volumes}
            assert {info.uid for info in kept.get_pods(row)} == expected
            assert (row in kept.rows) == bool(expected)
        snap = self.cache.snapshot()
        for namespace, claim in itertools.product(("ns1", "ns2"), "cd"):
            named = collections.Counter(
                placed.node_name
                for placed in self.pods.values()
                for volume in placed.info.pod.spec.volumes
                if placed.info.pod.metadata.namespace == namespace
                and volume.persistent_volume_claim is not None
                and volume.persistent_volume_claim.claim_name == claim
            )
            uses = kept.count_claim_uses(namespace, claim)
            assert {self.cache.nodes.names[row]: count for row, count in uses.items()} == named
            assert snap.is_claim_used(namespace, claim) == bool(named.keys() & self.nodes.keys())

    @invariant()
    def counts_are_those_of_a_recount(self) -> None:
        """Kept counts equal those of a recount, terminating pods included."""
        counts = self.cache.counts
        for query in list(counts._queries):
            expected = collections.Counter(
                placed.node_name
                for placed in self.pods.values()
                if query.matches(placed.info.shape, self.namespaces)
                and (query.counts_terminating or not placed.info.is_terminating)
            )
            column = counts._queries[query]
            assert self.by_name(column.get_counts(self.cache.nodes.size)) == expected
            assert column.total == expected.total()

    @invariant()
    def owned_terms_are_those_of_the_pods(self) -> None:
        """Terms of placed pods are counted where the pods are."""
        expected: dict[object, collections.Counter[str]] = {}
        for placed in self.pods.values():
            for term in placed.info.shape.anti_affinity_terms:
                weighted = pod_shape.WeightedAffinityTerm(term, 1)
                expected.setdefault(weighted, collections.Counter())[placed.node_name] += 1
        owned = self.cache.counts.get_term_owner_counts(pod_counts.TermKind.REQUIRED_ANTI_AFFINITY)
        found = {
            term: self.by_name(column.get_counts(self.cache.nodes.size))
            for term, column in owned.items()
        }
        assert found == expected

    @invariant()
    def pods_are_where_they_should_be(self) -> None:
        """The cache knows each pod, its node and whether it is assumed."""
        assert self.cache.pod_count == len(self.pods)
        assert self.cache.assumed_count == sum(p.is_assumed for p in self.pods.values())
        for uid, placed in self.pods.items():
            assert self.cache.get_node_of_pod(uid) == placed.node_name


TestCacheMachine = CacheMachine.TestCase
TestCacheMachine.settings = settings(
    max_examples=examples.scale(60), stateful_step_count=30, deadline=None
)


class TestAssumedPods:
    """The pod state machine."""

    def make(self, ttl_seconds: float | None) -> tuple[caches.Cache, clocks.ManualClock]:
        """Return a cache with one node."""
        clock = clocks.ManualClock(builders.EPOCH)
        cache = caches.Cache(clock, assumed_ttl_seconds=ttl_seconds)
        cache.set_node(builders.make_node("n1").build())
        return cache, clock

    @pytest.mark.parametrize(
        "finished, waited_seconds, expired",
        [
            pytest.param(True, 29.0, [], id="confirmed in time or not yet due"),
            pytest.param(True, 30.0, ["default/a"], id="never confirmed"),
            pytest.param(False, 99.0, [], id="its binding is still under way"),
        ],
    )
    def test_expiry(self, finished: bool, waited_seconds: float, expired: list[str]) -> None:
        """An assumed pod expires only after its binding finished and nobody confirmed it."""
        cache, clock = self.make(ttl_seconds=30.0)
        info = pod_shape.PodShapeCache().make_pod_info(builders.make_pod("a").build())
        cache.assume_pod(info, "n1")
        if finished:
            cache.finish_binding(info)
        clock.advance(waited_seconds)
        assert [gone.key for gone in cache.expire_assumed()] == expired
        assert cache.pod_count == 1 - len(expired)

    def test_confirmation_ends_the_assumption(self) -> None:
        """A pod that the watch shows on its node neither expires nor can be forgotten."""
        cache, clock = self.make(ttl_seconds=30.0)
        shapes = pod_shape.PodShapeCache()
        info = shapes.make_pod_info(builders.make_pod("a").build())
        cache.assume_pod(info, "n1")
        cache.finish_binding(info)
        generation = cache.nodes.usage_changes.generation
        cache.update_pod(shapes.make_pod_info(builders.make_pod("a").node("n1").build()))
        clock.advance(60.0)
        assert cache.expire_assumed() == []
        assert not cache.forget_pod(info)
        assert cache.nodes.usage_changes.generation == generation
