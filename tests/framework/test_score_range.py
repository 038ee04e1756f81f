"""Final scores of built-in plugins outside 0 to 100 end the cycle, as in kube-scheduler.

Amounts near 2⁶³ bytes overflow in NodeResourcesFit; kube-scheduler's own plugins, asked through
`tests/conformance/oracle_process.py`, give the same text. That no warning of NumPy's reaches stderr
is seen to by pytest, for which each one is an error.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, profile, runtime, status
from policysched.plugins import node_resources_fit
from policysched.plugins.node_affinity import node_affinity
from tests import builders

TOLD = (
    "applying score defaultWeights on Score plugins: "
    'plugin "NodeResourcesFit" returns an invalid score 283281321, '
    "it should in the range of [0, 100] after normalizing"
)


def framework(*plugins: interface.Plugin) -> runtime.Framework:
    """Return a profile in which each plugin has weight 1."""
    return runtime.Framework(profile.Profile("test", plugins, {p.name: 1 for p in plugins}), None)


def overfull(*names: str) -> builders.Cluster:
    """Return a cluster in which two pods of `n0` add up to more memory than an int64 holds."""
    nodes = [builders.make_node(name).capacity(cpu="4", memory="8Gi", pods=110) for name in names]
    huge = [builders.make_pod(f"huge-{n}").node("n0").requests(memory="8E") for n in range(2)]
    return builders.make_cache(nodes, huge)


def test_a_score_out_of_range_is_an_error() -> None:
    """The pod is not placed, and its owner hears what kube-scheduler says."""
    cluster = overfull("n0", "n1")
    judge = framework(node_resources_fit.NodeResourcesFit())
    result = judge.schedule_pod(
        cluster.info(builders.make_pod("p").image("x")), cluster.cache.snapshot()
    )
    assert (result.node_name, result.feasible_count, result.message) == (None, 0, TOLD)
    assert result.status.code is status.Code.ERROR


def test_explanations_say_so_too() -> None:
    """The nodes pass, but none is best."""
    cluster = overfull("n0", "n1")
    judge = framework(node_resources_fit.NodeResourcesFit())
    found = judge.explain_pod(
        cluster.info(builders.make_pod("p").image("x")), cluster.cache.snapshot()
    )
    assert (found.message, found.best, found.scores, found.feasible_count) == (TOLD, [], None, 0)


@pytest.mark.parametrize("names", [("n0",), ("n0", "n1", "n2")], ids=["alone", "not feasible"])
def test_scores_that_do_not_matter_are_no_error(names: tuple[str, ...]) -> None:
    """A single feasible node is not scored, and what is not feasible has no final score."""
    cluster = overfull(*names)
    pod = builders.make_pod("p")
    if len(names) > 1:
        pod = pod.requires_nodes(
            builders.node_term(fields=(builders.expression("metadata.name", "NotIn", "n0"),))
        )
    judge = framework(node_resources_fit.NodeResourcesFit(), node_affinity.NodeAffinity())
    result = judge.schedule_pod(cluster.info(pod), cluster.cache.snapshot())
    assert result.status.is_success
    assert result.node_name in names


def test_once_the_amounts_are_gone_pods_are_placed() -> None:
    """The error is not kept for equal pods."""
    cluster = overfull("n0", "n1")
    judge = framework(node_resources_fit.NodeResourcesFit())
    pod = cluster.info(builders.make_pod("p").image("x"))
    assert judge.schedule_pod(pod, cluster.cache.snapshot()).node_name is None
    cluster.cache.remove_pod(
        cluster.info(builders.make_pod("huge-0").node("n0").requests(memory="8E"))
    )
    assert judge.schedule_pod(pod, cluster.cache.snapshot()).node_name == "n1"


@pytest.mark.parametrize(
    "memory, points",
    [
        pytest.param("100P", -4, id="rounded towards 0"),
        pytest.param("80P", 87, id="no overflow"),
        pytest.param("1E", 41, id="overflow within the range"),
        pytest.param("8E", 37, id="the greatest"),
    ],
)
def test_shares_overflow_like_those_of_go(memory: str, points: int) -> None:
    """The numbers are those of kube-scheduler's plugin."""
    node = builders.make_node("n0").capacity(cpu="4", memory=memory, pods=110)
    other = builders.make_node("n1").capacity(cpu="4", memory="4Ei", pods=110)
    cluster = builders.make_cache([node, other])
    pod = cluster.info(builders.make_pod("p").requests(cpu="1", memory="1Gi"))
    result = framework(node_resources_fit.NodeResourcesFit()).schedule_pod(
        pod, cluster.cache.snapshot()
    )
    if points < 0:
        assert f"invalid score {points}, " in result.message
    else:
        assert result.scores is not None
        assert result.scores.totals.tolist() == [100 * points, 3700]


class NormalizesWrongly:
    """Gives scores below 0 after normalizing; counts as built in."""

    name = "Wrong"
    reads: ClassVar[interface.Reads] = interface.Reads.NODE

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Give no points."""
        return np.zeros(len(nodes), np.int64)

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: interface.RawScores
    ) -> columns.IntArray:
        """Take one away."""
        return np.arange(len(scores)) - 1


NormalizesWrongly.__module__ = "policysched.plugins.wrong"


@pytest.mark.parametrize("reads", [interface.Reads.NODE, interface.Reads.ANYTHING], ids=str)
def test_normalized_scores_are_checked(
    reads: interface.Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether raw scores are kept or not, final ones are looked at for each pod."""
    monkeypatch.setattr(NormalizesWrongly, "reads", reads)
    cluster = overfull("n1", "n2")
    result = framework(NormalizesWrongly()).schedule_pod(
        cluster.info(builders.make_pod("p").image("x")), cluster.cache.snapshot()
    )
    assert result.node_name is None
    assert 'plugin "Wrong" returns an invalid score -1, it should' in result.message
