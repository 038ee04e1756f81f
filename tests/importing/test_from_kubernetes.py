"""docs/from-kubernetes.md: pod YAML and the policy beside it decide alike, on generated clusters.

Each pair is decided twice: with the YAML in the pods and without policies, and with plain pods and
the policy.
"""

from __future__ import annotations

import copy
import functools
import itertools
import pathlib
from typing import NamedTuple

import orjson
import pytest

from policysched.cli import main
from tests.importing import deciding, decisions, kubernetes_page, page_clusters

pytestmark = pytest.mark.slow  # each pair is decided on nine clusters

PAIRS = kubernetes_page.read_pairs()
PROMISES = kubernetes_page.read_promises()
PREFERENCES = (
    "preferred-node-affinity",
    "several-preferred-terms",
    "preferred-pod-affinity",
    "preferred-pod-anti-affinity",
    "topology-spread-as-a-preference",
)
"""The pairs that reject no node."""
QUIET = "disable scores TaintToleration, NodeResourcesFit, NodeResourcesBalancedAllocation"
"""Leaves a profile only the scores that the page describes."""
_ALL_EQUAL = [each for each in PROMISES if set(each[1:]) == {"equal"}]


def _section(promise: kubernetes_page.Promise) -> str:
    return promise.section


each_promise = pytest.mark.parametrize("promise", PROMISES, ids=_section)


class Decided(NamedTuple):
    """A cluster without the YAML and the policy of a pair, with the YAML, with the policy."""

    cluster: decisions.Cluster
    plain: dict[str, decisions.Verdict]
    stated: dict[str, decisions.Verdict]
    ruled: dict[str, decisions.Verdict]


@functools.cache
def decide(section: str) -> list[Decided]:
    """Return the decisions of a pair, for each cluster."""
    spec, policy = PAIRS[section][1:]
    return [
        Decided(
            cluster,
            plain,
            decisions.explain(page_clusters.with_spec(cluster, spec)),
            decisions.explain(cluster, policy),
        )
        for cluster, plain in zip(decisions.CLUSTERS, decisions.explain_plain(), strict=True)
    ]


def test_every_pair_has_a_row_in_the_first_table() -> None:
    """And every row a pair."""
    assert [each.section for each in PROMISES] != []
    assert sorted(PAIRS) == sorted(each.section for each in PROMISES)


@each_promise
def test_the_same_nodes_pass(promise: kubernetes_page.Promise) -> None:
    """For the pods of the pair and for all others; the pair matters for some of them."""
    assert promise.nodes == "equal"
    changed = accepted = 0
    for decided in decide(promise.section):
        for name, verdict in decided.stated.items():
            assert decisions.feasible(verdict) == decisions.feasible(decided.ruled[name]), (
                name,
                decided.cluster,
            )
            changed += decisions.feasible(verdict) != decisions.feasible(decided.plain[name])
            accepted += bool(decisions.feasible(verdict))
    assert accepted
    assert bool(changed) != (promise.section in PREFERENCES)


@each_promise
def test_points_of_the_pods_of_a_pair(promise: kubernetes_page.Promise) -> None:
    """They are as close as the first table promises."""
    for decided in decide(promise.section):
        before, after = (
            decisions.totals(decided.stated[decisions.OWN]),
            decisions.totals(decided.ruled[decisions.OWN]),
        )
        match promise.own_points:
            case "equal":
                assert before == after
            case "within 2":
                assert _behind_best(before) == pytest.approx(_behind_best(after), abs=2)
            case other:
                assert other == "same order"
                _assert_same_order(promise.section, decided.cluster)


def _behind_best(points: dict[str, float]) -> dict[str, float]:
    return {name: max(points.values()) - each for name, each in points.items()}


def _assert_same_order(section: str, cluster: decisions.Cluster) -> None:
    """Compare the ranks of nodes that have a zone, without other scores."""
    pair = PAIRS[section]
    stated = page_clusters.with_spec(cluster, pair.spec)
    before = decisions.explain(stated, f"profile policysched {{ {QUIET} }}")[decisions.OWN]
    after = decisions.explain(
        cluster, f"{pair.policy} profile policysched {{ policies web {QUIET} }}"
    )[decisions.OWN]
    zoned = {
        item["metadata"]["name"]
        for item in cluster
        if item["kind"] == "Node" and page_clusters.ZONE in item["metadata"]["labels"]
    }
    assert _ranks(decisions.totals(before), zoned) == _ranks(decisions.totals(after), zoned)


def _ranks(points: dict[str, float], names: set[str]) -> dict[str, int]:
    kept = {name: each for name, each in points.items() if name in names}
    order = sorted(set(kept.values()))
    return {name: order.index(each) for name, each in kept.items()}


@pytest.mark.parametrize("section", PREFERENCES)
def test_a_preference_changes_points(section: str) -> None:
    """In several clusters, so that equal points mean something."""
    changed = [
        decisions.totals(decided.ruled[decisions.OWN])
        for decided in decide(section)
        if decisions.totals(decided.ruled[decisions.OWN])
        != decisions.totals(decided.plain[decisions.OWN])
    ]
    assert len(changed) > 2
    assert any(len(set(points.values())) > 1 for points in changed)


@each_promise
def test_points_of_other_pods(promise: kubernetes_page.Promise) -> None:
    """They differ only if the first table admits it."""
    differing = 0
    for decided in decide(promise.section):
        for name in decided.stated.keys() - {decisions.OWN}:
            differing += decisions.totals(decided.stated[name]) != decisions.totals(
                decided.ruled[name]
            )
    assert promise.other_points == ("differ" if differing else "equal")


@pytest.mark.parametrize(
    "section, written, other",
    [
        ("nodeselector", " and pool = web", ""),
        ("node-names", "nodeName != n2 and", ""),
        ("several-preferred-terms", "weight 4", "weight 1"),
        ("tolerations", "dedicated=web:NoSchedule,", ""),
        ("tolerations", ":PreferNoSchedule", ":NoSchedule"),
        ("pod-affinity", page_clusters.ZONE, "kubernetes.io/hostname"),
        ("pod-anti-affinity", "self", "pods where app = redis"),
        ("preferred-pod-affinity", "weight 2", "weight 3"),
        ("preferred-pod-anti-affinity", "app = batch", "app = redis"),
        ("namespaces", "namespaces all", ""),
        ("namespaces", "namespaces (data)", ""),
        ("namespaces", "namespaceSelector team = store", ""),
        ("label-keys", "matchLabelKeys (pod-template-hash)", ""),
        ("label-keys", "mismatchLabelKeys (tenant)", ""),
        ("topology-spread", "maxSkew 1", "maxSkew 2"),
        ("topology-spread", "minDomains 3", "minDomains 2"),
        ("topology-spread", "nodeAffinityPolicy Honor", "nodeAffinityPolicy Ignore"),
        ("topology-spread", "nodeTaintsPolicy Honor", "nodeTaintsPolicy Ignore"),
        ("topology-spread", "matchLabelKeys (pod-template-hash)", ""),
        ("topology-spread-as-a-preference", "self", "pods"),
    ],
)
def test_the_clusters_notice_a_wrong_clause(section: str, written: str, other: str) -> None:
    """At least two of them, so that equal decisions mean something."""
    policy = PAIRS[section].policy
    assert written in policy
    changed = 0
    for decided in decide(section):
        found = decisions.explain(decided.cluster, policy.replace(written, other, 1))
        changed += any(
            (decisions.feasible(verdict), decisions.totals(verdict))
            != (decisions.feasible(decided.ruled[name]), decisions.totals(decided.ruled[name]))
            for name, verdict in found.items()
        )
    assert changed >= 2


@pytest.mark.parametrize("promise", _ALL_EQUAL, ids=_section)
def test_the_same_pods_are_placed_and_evicted(
    promise: kubernetes_page.Promise, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `simulate`; the pod of the pair has the highest priority."""
    pair = PAIRS[promise.section]
    (tmp_path / "page.policy").write_text(pair.policy, encoding="utf-8")
    evicted: list[str] = []
    for cluster in decisions.CLUSTERS[:7]:
        crowded = _crowd(cluster)
        stated = _simulate(tmp_path, page_clusters.with_spec(crowded, pair.spec), capsys)
        ruled = _simulate(tmp_path, crowded, capsys, "--policies", str(tmp_path / "page.policy"))
        assert stated == ruled
        evicted += [victim for _, _, victims in stated for victim in victims]
    assert evicted


def _crowd(cluster: decisions.Cluster) -> decisions.Cluster:
    """Return the cluster with too little room, so that pods are evicted."""
    crowded = copy.deepcopy(cluster)
    for item in crowded:
        if item["kind"] == "Node":
            item["status"]["allocatable"]["cpu"] = "800m"
    return crowded


def _simulate(
    folder: pathlib.Path,
    cluster: decisions.Cluster,
    capsys: pytest.CaptureFixture[str],
    *options: str,
) -> list[tuple[str, str, list[str]]]:
    """Return the node and the victims of each pod."""
    (folder / "cluster.json").write_bytes(orjson.dumps(deciding.listed(*cluster)))
    command = ["simulate", "--cluster", str(folder / "cluster.json"), "--deterministic"]
    main.main([*command, "-o", "json", *options])
    report = orjson.loads(capsys.readouterr().out)
    return [(pod["pod"], pod["node"], pod["victims"]) for pod in report["placements"]]


@each_promise
def test_the_imported_policy_decides_as_the_one_on_the_page(
    promise: kubernetes_page.Promise,
) -> None:
    """It is made of the YAML in a pod."""
    pod = deciding.pod("web", {"app": "web"}, **PAIRS[promise.section].spec)
    pod["metadata"]["namespace"] = "shop"
    imported = deciding.convert(deciding.as_yaml(pod))
    for decided in decide(promise.section)[:7]:
        found = decisions.explain(decided.cluster, imported.policy)
        for name, verdict in decided.ruled.items():
            assert decisions.feasible(found[name]) == decisions.feasible(verdict)
            assert decisions.totals(found[name]) == decisions.totals(verdict)


@pytest.mark.parametrize(
    "one, other",
    [
        pytest.param(one, other, id=f"{one}-and-{other}")
        for one, other in itertools.permutations(
            ("nodeselector", "pod-affinity", "pod-anti-affinity"), 2
        )
    ],
)
def test_a_policy_only_adds(one: str, other: str) -> None:
    """With the YAML of one pair and the policy of another, a node must pass both."""
    for of_pod, of_policy in zip(decide(one), decide(other), strict=True):
        stated = page_clusters.with_spec(of_pod.cluster, PAIRS[one].spec)
        for name, verdict in decisions.explain(stated, PAIRS[other].policy).items():
            passing = decisions.feasible(of_pod.stated[name]) & decisions.feasible(
                of_policy.ruled[name]
            )
            assert decisions.feasible(verdict) == passing
