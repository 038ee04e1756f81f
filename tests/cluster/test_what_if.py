"""What-if questions on the live columns: what is seen while they are open, and afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from policysched.cluster import what_if
from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import selectors
from policysched.cluster.pods import pod_shape
from tests import builders

WEB = selectors.from_match_labels({"app": "web"})
SPREAD = pod_counts.NonTerminatingPodsInNamespace("default", WEB)
EVERYONE = pod_counts.HypotheticalPodsInNamespace("default")
TERM = builders.pod_term("zone", {"app": "web"})
NEAR = pod_counts.PodsMatchingAllTerms((pod_shape.make_affinity_term(TERM, "default"),))
A = builders.make_pod("a").labels(app="web").requests(cpu="1").host_port(80).claim("c").node("n1")
B = builders.make_pod("b").labels(app="web").requests(cpu="2").rejects_pods(TERM).node("n1")
OLD = builders.make_pod("old").labels(app="web").requests(cpu="1").terminating().node("n2")


def cluster() -> builders.Cluster:
    """Return two nodes and three pods."""
    return builders.make_cache([builders.make_node("n1"), builders.make_node("n2")], [A, B, OLD])


def facts(made: builders.Cluster) -> dict[str, Any]:
    """Return all that is counted of the pods."""
    cache = made.cache
    nodes, counts = cache.nodes, cache.counts
    anti = counts.get_term_owner_counts(pod_counts.TermKind.REQUIRED_ANTI_AFFINITY)
    return {
        "cpu": nodes.requested[:2, 0].tolist(),
        "nonzero": nodes.nonzero_requested[:2].tolist(),
        "pods": nodes.pod_count[:2].tolist(),
        "ports": nodes.ports.find_nodes_with_port_conflicts(
            (pod_shape.HostPort("0.0.0.0", "TCP", 80),),  # noqa: S104 - the API's word for any
            2,
        ).tolist(),
        "claims": dict(cache.storage.pods.count_claim_uses("default", "c")),
        "order": [[p.pod.metadata.name for p in cache.get_pods_on_row(row)] for row in range(2)],
        "near": counts.get_column(NEAR).get_counts(2).tolist(),
        "spread": counts.get_column(SPREAD).get_counts(2).tolist(),
        "everyone": counts.get_column(EVERYONE).get_counts(2).tolist(),
        "anti": {t.term.topology_key: c.get_counts(2).tolist() for t, c in anti.items() if c.total},
    }


def pods(made: builders.Cluster, *names: str) -> Sequence[tuple[pod_shape.PodInfo, int]]:
    """Return placed pods with their rows."""
    placed = {
        p.pod.metadata.name: (p, row) for row in range(2) for p in made.cache.get_pods_on_row(row)
    }
    return [placed[name] for name in names]


def test_what_leaves_is_gone_while_the_question_is_open() -> None:
    """Requests, ports, claims, counters and the pods themselves follow."""
    made = cluster()
    facts(made)
    with what_if.WhatIf(made.cache.snapshot()) as world:
        world.remove_pods(pods(made, "a", "b"))
        found = facts(made)
    assert found["cpu"] == [0, 1000]
    assert (found["pods"], found["order"]) == ([0, 1], [[], ["old"]])
    assert (found["ports"], found["claims"]) == ([False, False], {})
    assert (found["near"], found["spread"], found["anti"]) == ([0, 1], [0, 0], {})


def test_what_comes_is_there_while_the_question_is_open() -> None:
    """A pod that nobody has seen before counts on the row on which it is supposed to be."""
    made = cluster()
    facts(made)
    zone = builders.pod_term("rack", {"app": "db"})
    new = made.info(builders.make_pod("new").requests(cpu="3").rejects_pods(zone))
    with what_if.WhatIf(made.cache.snapshot()) as world:
        world.add_pods([(new, 1)])
        found = facts(made)
    assert (found["cpu"], found["order"]) == ([3000, 4000], [["a", "b"], ["old", "new"]])
    assert found["anti"] == {"zone": [1, 0], "rack": [0, 1]}


@pytest.mark.parametrize("put_back", [(), ("a",), ("b", "a")], ids=["none", "one", "all"])
def test_afterwards_everything_is_as_before(put_back: tuple[str, ...]) -> None:
    """Amounts, counters and the order of the pods are restored, whatever was put back meanwhile."""
    made = cluster()
    before = facts(made)
    gone = pods(made, "a", "b", "old")
    by_name = {info.pod.metadata.name: (info, row) for info, row in gone}
    new = made.info(builders.make_pod("new").requests(cpu="3").labels(app="web"))
    with what_if.WhatIf(made.cache.snapshot()) as world:
        world.remove_pods(gone)
        world.add_pods([by_name[name] for name in put_back])
        world.add_pods([(new, 0), (new, 1)])
        assert facts(made) != before
    assert facts(made) == before


def test_it_is_undone_after_an_error() -> None:
    """A plugin that breaks leaves no trace."""
    made = cluster()
    before = facts(made)

    def breaks() -> None:
        with what_if.WhatIf(made.cache.snapshot()) as world:
            world.remove_pods(pods(made, "a"))
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        breaks()
    assert facts(made) == before


def test_terminating_pods_leave_spread_though_they_did_not_count() -> None:
    """So kube-scheduler corrects what PreFilter counted; an empty selector counts likewise."""
    made = cluster()
    assert (facts(made)["spread"], facts(made)["everyone"]) == ([2, 0], [0, 0])
    with what_if.WhatIf(made.cache.snapshot()) as world:
        world.remove_pods(pods(made, "a", "old"))
        found = facts(made)
        assert (found["spread"], found["everyone"], found["near"]) == ([1, -1], [-1, -1], [1, 0])
    assert (facts(made)["spread"], facts(made)["everyone"]) == ([2, 0], [0, 0])


def test_a_port_that_two_pods_claim_is_free_when_one_is_supposed_to_leave() -> None:
    """So kube-scheduler forgets it; a question within the question changes nothing of that."""
    made = cluster()
    twin = builders.make_pod("twin").host_port(80).node("n1")
    made.cache.add_pod(made.info(twin))
    assert facts(made)["ports"] == [True, False]
    snap = made.cache.snapshot()
    with what_if.WhatIf(snap) as world:
        world.remove_pods(pods(made, "a"))
        assert facts(made)["ports"] == [False, False]
        with what_if.WhatIf(snap) as inner:
            inner.add_pods([(made.info(twin.uid("x")), 0)])
            assert facts(made)["ports"] == [True, False]
        assert facts(made)["ports"] == [False, False]
    assert facts(made)["ports"] == [True, False]


def test_a_question_within_a_question_leaves_terms_of_those_who_left() -> None:
    """A term that a pod shares with one that is supposed to have left is there when it is back."""
    made = cluster()
    before = facts(made)
    twin = made.info(builders.make_pod("twin").labels(x="y").rejects_pods(TERM))
    snap = made.cache.snapshot()
    with what_if.WhatIf(snap) as world:
        leaving = pods(made, "b")
        world.remove_pods(leaving)
        with what_if.WhatIf(snap) as inner:
            inner.add_pods([(twin, 1)])
            assert facts(made)["anti"] == {"zone": [0, 1]}
        assert facts(made)["anti"] == {}
        world.add_pods(leaving)
        assert facts(made)["anti"] == before["anti"] == {"zone": [1, 0]}
    assert facts(made) == before


def test_changes_are_logged_and_logged_again_when_undone() -> None:
    """What somebody keeps of a row is asked for again: it may have been computed meanwhile."""
    made = cluster()
    log = made.cache.nodes.usage_changes
    start = log.generation
    with what_if.WhatIf(made.cache.snapshot()) as world:
        world.remove_pods(pods(made, "a"))
        middle = log.generation
        assert log.list_changes_since(start) == [0]
    assert log.list_changes_since(middle) == [0]
