"""Annotations, conditions and kubelet versions of nodes, while the cluster changes."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis
import hypothesis.strategies as st
import pytest

from policysched import clock as clocks
from policysched import release_version
from policysched.cluster import cache as caches
from policysched.cluster.objects import objects
from policysched.compiler.nodes import node_masks
from policysched.framework import events
from policysched.lang.checked import checked_selector
from tests import builders, examples
from tests.compiler import desk, strategies, test_requeue
from tests.reference import policy_selectors

CONDITION = events.ActionType.UPDATE_NODE_CONDITION
ANNOTATION = events.ActionType.UPDATE_NODE_ANNOTATION
OTHER = events.ActionType.UPDATE_OTHER
READY = desk.node("ready").condition("Ready", "True")
LOST = desk.node("lost").condition("Ready", "Unknown").condition("DiskPressure", "False")
FULL = desk.node("full").condition("Ready", "True").condition("DiskPressure", "True")
NEW = desk.node("new")
HEALTH = [READY, LOST, FULL, NEW]


def _feasible(selector: str, nodes: list[builders.NodeBuilder]) -> list[str]:
    text = f"policy p {{ for pods nodeAffinity required {selector} }}"
    return desk.Desk(text, nodes).feasible(desk.pod())


@pytest.mark.parametrize(
    "selector, feasible",
    [
        ("condition(Ready) = True", ["ready", "full"]),
        ("condition(Ready) != True", ["lost", "new"]),
        ("condition(Ready) In (False, Unknown)", ["lost"]),
        ("condition(DiskPressure) NotIn (True, Unknown)", ["ready", "lost", "new"]),
        ("condition(DiskPressure) Exists", ["lost", "full"]),
        ('condition("DiskPressure") DoesNotExist', ["ready", "new"]),
        ("not condition(Ready) = True and condition(Ready) Exists", ["lost"]),
    ],
)
def test_conditions(selector: str, feasible: list[str]) -> None:
    """A node without the condition matches as one without a label does."""
    assert _feasible(selector, HEALTH) == feasible


@pytest.mark.parametrize(
    "selector, feasible",
    [
        ("annotation(rack) = a1", ["a"]),
        ('annotation(rack) != "a 1"', ["a", "n"]),
        ("annotation(watts) > 200", ["n"]),
        ("annotation(watts) Exists", ["s", "n"]),
    ],
)
def test_annotations(selector: str, feasible: list[str]) -> None:
    """The operators of labels apply to any text."""
    nodes = [
        desk.node("a").annotations({"rack": "a1"}),
        desk.node("s").annotations({"rack": "a 1", "watts": "lots"}),
        desk.node("n").annotations({"watts": "300"}),
    ]
    assert _feasible(selector, nodes) == feasible


def test_annotations_and_conditions_in_expressions() -> None:
    """An annotation can be a number; a label with the same key is another thing."""
    text = """
    policy p {
      for pods
      reject when annotation(watts) > 300 missing reject
      reject when node(condition(Ready) != True or annotation(drain) Exists)
      score annotation(watts) prefer low missing score 0 as cool
    }
    """
    nodes = [
        READY.annotations({"watts": "250.5"}).labels(watts="999"),
        desk.node("hot").condition("Ready", "True").annotations({"watts": "301"}),
        desk.node("silent").condition("Ready", "True").labels(watts="1"),
        desk.node("late").annotations({"watts": "1"}),
        desk.node("drained").condition("Ready", "True").annotations({"watts": "1", "drain": ""}),
        desk.node("cold").condition("Ready", "True").annotations({"watts": "100.5"}),
    ]
    there = desk.Desk(text, nodes)
    assert there.feasible(desk.pod()) == ["ready", "cold"]
    assert there.points(desk.pod(), "p/cool") == {"ready": 0, "cold": 100}


# --- versions ------------------------------------------------------------------------------------

ORDERED = (
    ("v1.9.11",),
    ("v1.29.6", "v1.29.6+k3s1", "v1.29.6-eks-ae9a62a", "v1.29.6-gke.100"),
    ("v1.30.0-alpha.3", "v1.30.0-rc.1"),
    ("v1.30.0", "v1.30.0+vmware.1"),
    ("v1.30.2-rc.0",),
    ("v1.30.2", "v1.30.2-gke.1587000"),
    ("v1.31.0-beta.0.15+af03ae",),
    ("v1.31.0", "v1.31.0-alphacentauri.1"),
    ("v2.0.0",),
)
"""Groups of versions that compare as equal, in ascending order."""


@pytest.mark.parametrize(
    "comparison, first, last",
    [
        ("< 1.30", 0, 2),
        ("<= 1.30", 0, 5),
        ("= 1.30", 3, 5),
        (">= 1.30", 3, 8),
        ("> 1.30", 6, 8),
        ("Gt v1.30", 6, 8),
        ("< 1.30.0", 0, 2),
        ("= 1.30.0", 3, 3),
        ("> v1.30.0", 4, 8),
        ("Lt 1.30.2", 0, 4),
        ("= 1.30.2", 5, 5),
        ('>= "1.31.0"', 7, 8),
    ],
)
def test_versions(comparison: str, first: int, last: int) -> None:
    """Only the parts that are written count; suffixes of vendors do not; previews come before."""
    texts = [text for group in ORDERED for text in group]
    nodes = [desk.node(f"n{number}").kubelet(text) for number, text in enumerate(texts)]
    wanted = [text for group in ORDERED[first : last + 1] for text in group]
    found = _feasible(f"nodeInfo(kubeletVersion) {comparison}", nodes)
    assert [texts[int(name[1:])] for name in found] == wanted


@pytest.mark.parametrize("text", ["", "unknown", "1", "v1.x", "v1.30.2.4", "v1." + "9" * 5000])
def test_what_is_no_version_differs_from_every_version(text: str) -> None:
    """It is neither above nor below."""
    node = desk.node("n").kubelet(text)
    for sign in ("=", "<", "<=", ">", ">="):
        assert _feasible(f"nodeInfo(kubeletVersion) {sign} 1.30", [node]) == []
    assert _feasible("nodeInfo(kubeletVersion) != 1.30", [node]) == ["n"]


def test_a_version_is_below_in_or_above_a_bound() -> None:
    """Exactly one of the three holds, and written bounds keep their text."""
    found = [release_version.parse_release_version(t) for group in ORDERED for t in group]
    for parts in strategies.BOUNDS:
        bound = release_version.VersionBound(parts)
        signs = [bound.compare(version) for version in found if version is not None]
        assert signs == sorted(signs)
        assert release_version.parse_version_bound(str(bound)) == bound


# --- a cluster that changes ----------------------------------------------------------------------


def _compare_with_reference(
    selector: checked_selector.Selector, versions: list[objects.Node]
) -> None:
    """Let nodes take several states, one after the other, and compare each state."""
    cache = caches.Cache(clocks.ManualClock(builders.EPOCH))
    mask = node_masks.lower(selector)
    present: dict[str, objects.Node] = {}
    for node in versions:
        present[node.name] = node
        cache.set_node(node)
        snap = cache.snapshot()
        found = mask.mask(snap.view_all_rows())
        matching = {snap.nodes.names[row] for row in found.nonzero()[0]}
        assert matching == {
            name for name, node in present.items() if policy_selectors.node_matches(selector, node)
        }


_states = st.lists(st.sampled_from(strategies.NODE_NAMES).flatmap(strategies.nodes), min_size=1)


@hypothesis.settings(max_examples=examples.scale(100))
@hypothesis.given(strategies.node_selectors, _states)
def test_masks_match_as_the_reference(
    selector: checked_selector.Selector, versions: list[objects.Node]
) -> None:
    """Whatever selectors ask of nodes, and however nodes change."""
    _compare_with_reference(selector, versions)


@pytest.mark.proof
@hypothesis.settings(
    max_examples=10_000, suppress_health_check=[hypothesis.HealthCheck.too_slow], deadline=None
)
@hypothesis.given(strategies.node_selectors, _states)
def test_masks_match_as_the_reference_in_many_clusters(
    selector: checked_selector.Selector, versions: list[objects.Node]
) -> None:
    """The same for 10,000 clusters."""
    _compare_with_reference(selector, versions)


def test_a_heartbeat_changes_no_row() -> None:
    """The kubelet reports every few seconds; only other statuses count."""
    cache = caches.Cache(clocks.ManualClock(builders.EPOCH))
    assert cache.set_node(READY.build())
    before = cache.nodes.node_changes.generation
    for minute in range(100):
        time = f"2026-01-05T12:{minute % 60:02}:00Z"
        beat = objects.Condition("Ready", "True", "KubeletReady", "ok", last_transition_time=time)
        node = READY.build()
        status = objects.NodeStatus(allocatable=node.status.allocatable, conditions=(beat,))
        assert not cache.set_node(objects.Node(node.metadata, node.spec, status))
    assert cache.nodes.node_changes.generation == before
    assert cache.set_node(READY.condition("Ready", "False").build())


# --- waking a pod that waits ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "selector, useless, helpful, action",
    [
        pytest.param(
            "condition(DiskPressure) = False",
            lambda number: FULL.condition("Custom", f"{number}"),
            FULL.condition("DiskPressure", "False"),
            CONDITION,
            id="condition",
        ),
        pytest.param(
            "annotation(drain) DoesNotExist and condition(DiskPressure) = True",
            lambda number: READY.annotations({"beat": f"{number}"}),
            FULL.annotations({"beat": "1"}),
            ANNOTATION,
            id="annotation",
        ),
        pytest.param(
            "nodeInfo(kubeletVersion) >= 1.30",
            lambda number: READY.kubelet(f"v1.29.{number}"),
            READY.kubelet("v1.30.0-gke.1"),
            OTHER,
            id="version",
        ),
    ],
)
def test_only_the_fact_that_a_rule_reads_wakes_a_pod(
    selector: str,
    useless: Callable[[int], builders.NodeBuilder],
    helpful: builders.NodeBuilder,
    action: events.ActionType,
) -> None:
    """A hundred changes of other facts do not."""
    text = f"policy p {{ for pods nodeAffinity required {selector} }}"
    begun = [READY, FULL.annotations({"drain": ""})]
    there = test_requeue.Waiting(text, begun).begin(desk.pod())
    for number in range(100):
        assert not there.change_node(useless(number), action)
    assert there.change_node(helpful, action)


def test_a_beating_node_that_fits_wakes_no_pod() -> None:
    """Another plugin rejects the pod there; the rule has nothing to do with what changes."""
    text = """
    policy p {
      for pods
      reject when free(cpu) < 1 and node(annotation(drain) Exists)
      nodeAffinity required condition(Ready) = True
      nodeAffinity required disk = ssd or zone = a
      reject when requests(cpu) > 0 and node(zone DoesNotExist)
    }
    """
    fits = READY.labels(zone="a").annotations({"beat": "0"})
    there = test_requeue.Waiting(text, [READY]).begin(desk.pod().requests(cpu="1"))
    there.cache.set_node(fits.build())
    for number in range(100):
        assert not there.change_node(fits.annotations({"beat": f"{number}"}), ANNOTATION)
    there.cache.set_node(fits.annotations({"drain": ""}).build())
    assert there.change_node(fits, ANNOTATION)


def test_changes_that_no_rule_reads_have_no_hint() -> None:
    """A policy without these terms is not asked about their changes at all."""
    text = "policy p { for pods nodeAffinity required disk = ssd }"
    there = test_requeue.Waiting(text, [READY]).begin(desk.pod())
    for action in (CONDITION, ANNOTATION, OTHER):
        assert not there.change_node(READY.labels(disk="ssd"), action)
