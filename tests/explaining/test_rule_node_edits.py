"""What rules and pods say about nodes: misspelt words, numbers of labels, taints, topologies."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import examples
from tests.cli import clusters
from tests.explaining import desk

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zones",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def _node(name: str = "n1", taint: str = "", **labels: str) -> desk.Object:
    node = clusters.node(name, **labels)
    if taint:
        node["spec"]["taints"] = [{"key": taint, "value": "", "effect": "PreferNoSchedule"}]
    return node


def _annotated(**annotations: str) -> desk.Object:
    node = _node()
    node["metadata"]["annotations"] = annotations
    return node


def _named(name: str) -> desk.Object:
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}}


def _policy(rule: str) -> str:
    return f"version 1\npolicy w {{ for pods\n{rule} as it }}\n"


CASES = [
    pytest.param(
        [_node(team="a"), clusters.pod("p")],
        "nodeAffinity required team = pod(app) missing reject",
        [
            "change the label app of the pod from web to a",
            "change the label team of a node from a to web",
        ],
        id="a label that the pod has with another value",
    ),
    pytest.param(
        [_node(team="web"), clusters.pod("p")],
        "reject when node(team = pod(app)) missing reject",
        ["remove the label team=web of a node"],
        id="a label that must not have the value of the pod",
    ),
    pytest.param(
        [_node(rank="7"), clusters.pod("p")],
        "reject when label(rank) > 5 missing reject",
        [
            "change the label rank of a node from 7 to 5",
            "rule w/it (line 3): threshold from 5 to 7",
        ],
        id="a label as a number",
    ),
    pytest.param(
        [_node(rank="high"), clusters.pod("p")],
        "reject when label(rank) > 5 missing reject",
        ["change the label rank of a node from high to 4"],
        id="a label that is no number",
    ),
    pytest.param(
        [_node(), clusters.pod("p")],
        "reject when label(rank) > 5 missing reject",
        ["add the label rank=4 to a node"],
        id="a missing label",
    ),
    pytest.param(
        [_annotated(watts="310"), clusters.pod("p")],
        "reject when annotation(watts) > 300 missing reject",
        [
            "change the annotation watts of a node from 310 to 300",
            "rule w/it (line 3): threshold from 300 to 310",
        ],
        id="an annotation as a number",
    ),
    pytest.param(
        [_annotated(rack="r 1"), clusters.pod("p")],
        'nodeAffinity required annotation(rack) = "r 2"',
        ["change the annotation rack of a node from r 1 to r 2"],
        id="an annotation",
    ),
    pytest.param(
        [_node(), clusters.pod("p")],
        "nodeAffinity required condition(Ready) = True and nodeInfo(kubeletVersion) > 1.30",
        [],
        id="facts that nobody sets",
    ),
    pytest.param(
        [_node(rank="7"), clusters.pod("p")],
        "nodeAffinity required rank Gt 9",
        [
            "change the label rank of a node from 7 to 10",
            "rule w/it (line 3): label rank Gt 9: compare with 6",
        ],
        id="a bound of node affinity",
    ),
    pytest.param(
        [_node(rank="7"), clusters.pod("p")],
        "reject when node(rank > 5)",
        [
            "change the label rank of a node from 7 to 5",
            "remove the label rank=7 of a node",
            "rule w/it (line 3): label rank Gt 5: compare with 7",
        ],
        id="a bound of `node`",
    ),
    pytest.param(
        [_node(disk="ssd"), clusters.pod("p")],
        "reject when not node(disk = sdd)",
        [
            "rule w/it (line 3): label disk=sdd: did you mean ssd? no node has that value",
            "change the label disk of a node from ssd to sdd",
        ],
        id="a misspelt value of `node`",
    ),
    pytest.param(
        [_node(pool="cpu"), _node("n2", taint="x", pool="gpu-7"), clusters.pod("p")],
        'reject when not node(pool = "gpu-*") or node(tainted(x))',
        [
            "change the label pool of a node from cpu to gpu-7",
            "remove the taint x:PreferNoSchedule of a node",
        ],
        id="a pattern that a value of another node matches",
    ),
    pytest.param(
        [_node(pool="cpu"), clusters.pod("p")],
        'nodeAffinity required pool = "gpu-*" or nodeName = "x-*"',
        [],
        id="a pattern that no value matches",
    ),
    pytest.param(
        [_node(), clusters.pod("p")],
        "nodeAffinity required nodeName In (n-1)",
        ["rule w/it (line 3): nodeName n-1: did you mean n1? no node has that name"],
        id="a misspelt name",
    ),
    pytest.param(
        [_node("n1"), clusters.pod("p", affinity=_named("n11"))],
        "",
        [
            "node affinity metadata.name In (n11): did you mean n1? no node is called n11",
            "drop metadata.name In (n11) from the required node affinity",
        ],
        id="a misspelt name of the pod",
    ),
    pytest.param(
        [_node(taint="old"), clusters.pod("p")],
        "nodeAffinity required not tainted(old)",
        ["remove the taint old:PreferNoSchedule of a node"],
        id="a taint that must not be there",
    ),
    pytest.param(
        [_node(taint="gpu"), clusters.pod("p")],
        "nodeAffinity required tainted(gpuu)",
        ["rule w/it (line 3): taint gpuu: did you mean gpu? no node has that taint"],
        id="a misspelt taint",
    ),
    pytest.param(
        [_node(**{"topology.kubernetes.io/zone": "a"}), clusters.pod("p")],
        "topologySpread self topologyKey zones maxSkew 1",
        [
            (
                "rule w/it (line 3): topologyKey zones: did you mean topology.kubernetes.io/zone? "
                "no node has that label"
            ),
        ],
        id="a misspelt topology",
    ),
    pytest.param(
        [_node(zone="a"), clusters.pod("p", topologySpreadConstraints=[SPREAD])],
        "",
        [
            (
                "topologyKey of spec.topologySpreadConstraints[0] (zones): did you mean zone? "
                "no node has the label zones"
            ),
            (
                "whenUnsatisfiable of spec.topologySpreadConstraints[0] (zones) from DoNotSchedule "
                "to ScheduleAnyway"
            ),
        ],
        id="a misspelt topology of the pod",
    ),
]


@pytest.mark.parametrize("items, rule, texts", CASES)
def test_edits_about_nodes(items: list[desk.Object], rule: str, texts: list[str]) -> None:
    """Every edit but leaving out the rule, in the order of what they give up."""
    report = desk.study_pod(items, _policy(rule) if rule else "")
    offered = [each["text"] for each in report["edits"] if each["kind"] != "rule"]
    assert offered == texts


RULES = [
    "reject when label(rank) > LOW missing reject",
    "reject when label(rank) < LOW missing allow",
    "reject when label(rank) * 2 - 1 >= LOW missing reject",
    "reject when label(rank) = LOW missing reject",
    "nodeAffinity required rank Gt LOW",
    "nodeAffinity required rank < LOW",
    "nodeAffinity required not (rank >= LOW)",
    "reject when not node(rank > LOW)",
]


@settings(
    max_examples=examples.scale(40), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    ranks=st.lists(st.sampled_from([None, "x", "3", "0", "2", "7", "40"]), min_size=1, max_size=3),
    rule=st.sampled_from(RULES),
    low=st.integers(-4, 9),
)
@example(ranks=[None], rule="reject when label(rank) = LOW missing reject", low=-2)
@example(ranks=[None], rule="reject when not node(rank > LOW)", low=-2)
def test_a_label_that_lets_the_pod_fit_is_offered(ranks: Any, rule: str, low: int) -> None:
    """If a whole number as the label of a node lets the pod fit, an edit of the label does."""
    nodes = [
        _node(f"n{at}", **({} if rank is None else {"rank": rank})) for at, rank in enumerate(ranks)
    ]
    items, policy = [*nodes, clusters.pod("p")], _policy(rule.replace("LOW", str(low)))
    report = desk.study_pod(items, policy)
    if report["feasible"]:
        return
    offered = [each for each in report["edits"] if each["kind"] == "label"]
    for each in offered:
        for node in each["nodes"]:
            assert node in desk.feasible(desk.edited(items, each, node), policy)
    gained = {node for each in offered for node in each["nodes"]}
    for node in ("n0", "n1", "n2")[: len(nodes)]:
        changed = copy.deepcopy(items)
        (found,) = (each for each in changed if each["metadata"]["name"] == node)
        for value in range(50):
            found["metadata"]["labels"]["rank"] = str(value)
            if node in desk.feasible(changed, policy):
                assert gained
                break
