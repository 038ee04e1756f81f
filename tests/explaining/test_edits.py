from __future__ import annotations

from typing import Any

import pytest

from policysched import clock as clocks
from policysched.explaining import pod_explaining, suggested_edit, trials
from tests import builders
from tests.cli import clusters
from tests.explaining import desk

TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
EXPRESSION = {"key": "disk", "operator": "In", "values": ["sd"]}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
SPREAD_0 = "spec.topologySpreadConstraints[0] (zone)"
ANTI = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "web"}}}
NOT_HDD = {"key": "disk", "operator": "NotIn", "values": ["hdd"]}
GEN_ABOVE_5 = {"key": "gen", "operator": "Gt", "values": ["5"]}
SOFT = {"key": "soft", "effect": "PreferNoSchedule"}
NAMED_N2 = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _node(name: str = "n1", spec: Any = None, cpu: str = "4", **labels: str) -> desk.Object:
    node = clusters.node(name, cpu, **labels)
    node["spec"] = spec or {}
    return node


def _port_pod(name: str, **spec: Any) -> desk.Object:
    pod = clusters.pod(name, **spec)
    pod["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    return pod


def _node_affinity(*expressions: Any) -> desk.Object:
    terms = [{"matchExpressions": list(expressions)}]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


def _policy(rule: str) -> str:
    metric = "metric busy: ratio = `b` node instance"
    return f"version 1\n{metric}\npolicy w {{\n  for pods\n  {rule}\n}}\n"


# --- one case a kind -----------------------------------------------------------------------------

CASES = [
    pytest.param(
        [_node(gpu_mem="80"), clusters.pod("p", nodeSelector={"gpu-mem": "80"})],
        "",
        [
            "nodeSelector gpu-mem: did you mean gpu_mem? no node has the label gpu-mem",
            "drop gpu-mem=80 from the nodeSelector",
            "add the label gpu-mem=80 to a node",
        ],
        id="a misspelt label",
    ),
    pytest.param(
        [_node(disk="ssd"), clusters.pod("p", nodeSelector={"disk": "sdd"})],
        "",
        [
            "nodeSelector disk=sdd: did you mean ssd? no node has disk=sdd",
            "drop disk=sdd from the nodeSelector",
            "change the label disk of a node from ssd to sdd",
        ],
        id="a misspelt value",
    ),
    pytest.param(
        [
            _node(**{"kubernetes.io/hostname": "n1"}),
            _node("n2"),
            clusters.pod("p", nodeSelector={"kubernetes.io/hostname": "n9"}),
        ],
        "",
        [
            (
                "nodeSelector kubernetes.io/hostname=n9: did you mean n1? no node has "
                "kubernetes.io/hostname=n9"
            ),
            "drop kubernetes.io/hostname=n9 from the nodeSelector",
            "add the label kubernetes.io/hostname=n9 to a node",
        ],
        id="a label that kubelets set",
    ),
    pytest.param(
        [
            _node(disk="nvme"),
            _node("n2", cpu="500m", disk="hdd"),
            clusters.pod("p", nodeSelector={"disk": "hdd"}),
        ],
        "",
        [
            "lower the cpu request of container c from 1 to 500m",
            "nodeSelector disk from hdd to nvme",
            "drop disk=hdd from the nodeSelector",
            "change the label disk of a node from nvme to hdd",
        ],
        id="another value, a smaller request",
    ),
    pytest.param(
        [_node(disk="ssd"), clusters.pod("p", affinity=_node_affinity(EXPRESSION))],
        "",
        [
            "node affinity disk In (sd): did you mean ssd?",
            "drop disk In (sd) from the required node affinity",
            "change the label disk of a node from ssd to sd",
        ],
        id="node affinity",
    ),
    pytest.param(
        [_node(spec={"taints": [TAINT]}), clusters.pod("p")],
        "",
        [
            "add a toleration for the taint dedicated=gpu:NoSchedule to the pod",
            "remove the taint dedicated=gpu:NoSchedule of a node",
        ],
        id="a taint",
    ),
    pytest.param(
        [
            _node(
                spec={
                    "unschedulable": True,
                    "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
                }
            ),
            clusters.pod("p"),
        ],
        "",
        ["uncordon a node"],
        id="a cordoned node",
    ),
    pytest.param(
        [_node(), clusters.pod("a", cpu="3500m", on="n1"), clusters.pod("p")],
        "",
        [
            "lower the cpu request of container c from 1 to 500m",
            "free 500m cpu on a node",
        ],
        id="too little cpu",
    ),
    pytest.param(
        [_node(), _port_pod("a", on="n1"), _port_pod("p")],
        "",
        ["drop host port 80/TCP of container c", "remove the pod prod/a from n1"],
        id="a host port",
    ),
    pytest.param(
        [
            _node(host="a"),
            clusters.pod("a", on="n1"),
            clusters.pod("p", affinity={"podAntiAffinity": {REQUIRED: [ANTI]}}),
        ],
        "",
        [
            "drop the required podAntiAffinity term 1 (topologyKey host)",
            "remove the pod prod/a from n1",
        ],
        id="pod anti-affinity",
    ),
    pytest.param(
        [
            _node(zone="a"),
            _node("n2", cpu="500m", zone="b"),
            clusters.pod("a", on="n1"),
            clusters.pod("b", on="n1"),
            clusters.pod("p", topologySpreadConstraints=[SPREAD]),
        ],
        "",
        [
            "lower the cpu request of container c from 1 to 500m",
            f"maxSkew of {SPREAD_0} from 1 to 3",
            f"whenUnsatisfiable of {SPREAD_0} from DoNotSchedule to ScheduleAnyway",
        ],
        id="topology spread",
    ),
    pytest.param(
        [_node(cpu="8"), clusters.pod("p", cpu="9")],
        _policy("reject when free(cpu) - requests(cpu) < 2 as spare"),
        ["lower the cpu request of container c from 9 to 6"],
        id="a request that a rule and the node refuse",
    ),
    pytest.param(
        [_node(cpu="8"), clusters.pod("p", cpu="7")],
        _policy("reject when free(cpu) - requests(cpu) < 2 as spare"),
        [
            "lower the cpu request of container c from 7 to 6",
            "rule w/spare (line 5): threshold from 2000m to 1000m",
            "remove rule w/spare (line 5)",
        ],
        id="a request that a rule alone refuses",
    ),
    pytest.param(
        [_node(), clusters.pod("p", cpu="1")],
        _policy("reject when requests(cpu) < 2 or requests(cpu) > 3 as odd"),
        [
            "raise the cpu request of container c from 1 to 2",
            "rule w/odd (line 5): threshold from 2000m to 1000m",
            "remove rule w/odd (line 5)",
        ],
        id="a request that a rule finds too small",
    ),
    pytest.param(
        [_node(), clusters.pod("p")],
        _policy("reject when requests(memory) = 0 as unbounded"),
        [
            "raise the memory request of container c to 1Mi",
            "remove rule w/unbounded (line 5)",
        ],
        id="a request that is missing",
    ),
    pytest.param(
        [_node(cpu="4"), clusters.pod("a", on="n1"), clusters.pod("p", cpu="3")],
        _policy("reject when free(cpu) - requests(cpu) < 500m as spare"),
        [
            "lower the cpu request of container c from 3 to 2500m",
            "free 500m cpu on a node",
            "rule w/spare (line 5): threshold from 500m to 0m",
            "remove rule w/spare (line 5)",
        ],
        id="room that a rule wants",
    ),
    pytest.param(
        [_node(), clusters.pod("a", cpu="4", on="n1"), clusters.pod("p")],
        "",
        ["lower the cpu request of container c from 1 to 0", "free 1 cpu on a node"],
        id="nothing left",
    ),
    pytest.param(
        [
            _node(spec={"taints": [TAINT, {**TAINT, "effect": "NoExecute"}]}),
            clusters.pod("p"),
        ],
        "",
        [
            "add a toleration for all taints to the pod",
            "add a toleration for all taints with the key dedicated to the pod",
        ],
        id="two taints",
    ),
    pytest.param(
        [_node(disk="hdd"), clusters.pod("p", nodeSelector={"disk": "ssd"})],
        _policy("nodeAffinity required disk = ssd as fast"),
        ["change the label disk of a node from hdd to ssd"],
        id="a label that the pod and a rule want",
    ),
    pytest.param(
        [
            _node(host="a"),
            clusters.pod("a", on="n1", affinity={"podAntiAffinity": {REQUIRED: [ANTI]}}),
            clusters.pod("p"),
        ],
        "",
        ["drop the label app=web", "remove the pod prod/a from n1"],
        id="anti-affinity of a placed pod",
    ),
    pytest.param(
        [_node(host="a"), clusters.pod("a", on="n1"), clusters.pod("p")],
        _policy("podAntiAffinity required self topologyKey host as apart"),
        ["remove the pod prod/a from n1", "remove rule w/apart (line 5)"],
        id="a policy's anti-affinity",
    ),
    pytest.param(
        [_node(disk="hdd"), clusters.pod("p", affinity=_node_affinity(NOT_HDD))],
        "",
        [
            "drop disk NotIn (hdd) from the required node affinity",
            "remove the label disk=hdd of a node",
        ],
        id="a label that must not be there",
    ),
    pytest.param(
        [_node(gen="3"), clusters.pod("p", affinity=_node_affinity(GEN_ABOVE_5))],
        "",
        [
            "node affinity gen Gt (5): compare with 2",
            "drop gen Gt (5) from the required node affinity",
            "change the label gen of a node from 3 to 6",
        ],
        id="a label that is too small",
    ),
    pytest.param(
        [_node(disk="hdd"), clusters.pod("p")],
        _policy("reject when node(disk = hdd) as slow"),
        ["remove the label disk=hdd of a node", "remove rule w/slow (line 5)"],
        id="a label that a policy rejects",
    ),
    pytest.param(
        [_node(disk="hdd"), clusters.pod("p")],
        _policy("reject when not node(disk = ssd) as slow"),
        ["change the label disk of a node from hdd to ssd", "remove rule w/slow (line 5)"],
        id="a label that a reject wants",
    ),
    pytest.param(
        [_node(gen="3"), clusters.pod("p")],
        _policy("nodeAffinity required gen Gt 5 as new"),
        [
            "change the label gen of a node from 3 to 6",
            "rule w/new (line 5): label gen Gt 5: compare with 2",
            "remove rule w/new (line 5)",
        ],
        id="a label that is too small for a policy",
    ),
    pytest.param(
        [_node(spec={"taints": [SOFT]}), clusters.pod("p")],
        _policy("reject when node(tainted(soft)) as soft"),
        ["remove the taint soft:PreferNoSchedule of a node", "remove rule w/soft (line 5)"],
        id="a taint that a policy rejects",
    ),
    pytest.param(
        [_node(), clusters.pod("a", cpu="3", on="n1"), clusters.pod("p")],
        _policy("reject when free(cpu) < 50% * allocatable(cpu) as part"),
        [
            "free 1 cpu on a node",
            "rule w/part (line 5): threshold from 50% to 25%",
            "remove rule w/part (line 5)",
        ],
        id="a share that a policy demands",
    ),
    pytest.param(
        [
            _node(),
            _node("n2", cpu="1", zone="b"),
            clusters.pod("a", on="n2"),
            clusters.pod("p", cpu="2"),
        ],
        _policy("podAffinity required self topologyKey zone as near"),
        [
            "lower the cpu request of container c from 2 to 0",
            "add the label zone=b to a node",
            "remove rule w/near (line 5)",
        ],
        id="a node in no domain of a policy's affinity",
    ),
    pytest.param(
        [_node(), _node("n2", cpu="1", zone="b"), clusters.pod("p", cpu="2")],
        _policy("topologySpread self topologyKey zone maxSkew 1 as even"),
        [
            "lower the cpu request of container c from 2 to 1",
            "add the label zone=b to a node",
            "remove rule w/even (line 5)",
        ],
        id="a node in no domain of a policy's spread",
    ),
    pytest.param(
        [
            _node(),
            clusters.pod(
                "p", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [NAMED_N2]}}}
            ),
        ],
        "",
        [
            "node affinity metadata.name In (n2): did you mean n1? no node is called n2",
            "drop metadata.name In (n2) from the required node affinity",
        ],
        id="a node that is not there",
    ),
    pytest.param(
        [
            _node(zone="a"),
            _node("n2"),
            *(clusters.pod(name, on="n1") for name in ("a", "b")),
            clusters.pod(
                "p", topologySpreadConstraints=[{**SPREAD, "minDomains": 2, "maxSkew": 2}]
            ),
        ],
        "",
        [
            f"maxSkew of {SPREAD_0} from 2 to 3",
            f"minDomains of {SPREAD_0} from 2 to 1",
            f"whenUnsatisfiable of {SPREAD_0} from DoNotSchedule to ScheduleAnyway",
        ],
        id="minDomains",
    ),
    pytest.param(
        [
            _node(zone="a"),
            _node("n2", {"taints": [TAINT]}, zone="b"),
            clusters.pod("a", on="n1"),
            clusters.pod("p", topologySpreadConstraints=[SPREAD]),
        ],
        "",
        [
            "add a toleration for the taint dedicated=gpu:NoSchedule to the pod",
            f"maxSkew of {SPREAD_0} from 1 to 2",
            f"nodeTaintsPolicy of {SPREAD_0} from Ignore to Honor",
            f"whenUnsatisfiable of {SPREAD_0} from DoNotSchedule to ScheduleAnyway",
            "remove the taint dedicated=gpu:NoSchedule of a node",
        ],
        id="an empty domain that is tainted",
    ),
    pytest.param(
        [
            _node(zone="a"),
            _node("n2", {"taints": [TAINT]}, zone="b"),
            clusters.pod("a", on="n1"),
            clusters.pod("p"),
        ],
        _policy("topologySpread self topologyKey zone maxSkew 1 nodeTaintsPolicy Ignore as even"),
        [
            "add a toleration for the taint dedicated=gpu:NoSchedule to the pod",
            "remove the taint dedicated=gpu:NoSchedule of a node",
            "rule w/even (line 5): maxSkew from 1 to 2",
            "rule w/even (line 5): nodeTaintsPolicy from Ignore to Honor",
            "remove rule w/even (line 5)",
        ],
        id="an empty domain that is tainted, of a policy",
    ),
    pytest.param(
        [_node(), clusters.pod("p")],
        _policy("reject when busy > 80% missing allow as hot"),
        [
            "rule w/hot (line 5): threshold from 80% to 90%",
            "remove rule w/hot (line 5)",
        ],
        id="a threshold",
    ),
    pytest.param(
        [_node(), clusters.pod("p")],
        _policy("reject when free(cpu) < 5 as full"),
        [
            "rule w/full (line 5): threshold from 5000m to 4000m",
            "remove rule w/full (line 5)",
        ],
        id="a threshold of free cores",
    ),
    pytest.param(
        [_node(disk="ssd"), clusters.pod("p")],
        _policy("nodeAffinity required dsk = ssd as fast"),
        [
            "rule w/fast (line 5): label dsk: did you mean disk? no node has that label",
            "add the label dsk=ssd to a node",
            "remove rule w/fast (line 5)",
        ],
        id="a policy's label",
    ),
    pytest.param(
        [
            _node(zone="a"),
            _node("n2", cpu="500m", zone="b"),
            clusters.pod("a", on="n1"),
            clusters.pod("p"),
        ],
        _policy("topologySpread self topologyKey zone maxSkew 1 as even"),
        [
            "lower the cpu request of container c from 1 to 500m",
            "rule w/even (line 5): maxSkew from 1 to 2",
            "remove rule w/even (line 5)",
        ],
        id="a policy's spread",
    ),
]


@pytest.mark.parametrize("items, policy, texts", CASES)
def test_edits_by_which_a_pod_would_fit(
    items: list[desk.Object], policy: str, texts: list[str]
) -> None:
    """They are told in the order of what they give up."""
    report = desk.study_pod(items, policy, {"busy": {"n1": 0.9}} if "busy >" in policy else None)
    assert [each["text"] for each in report["edits"]] == texts
    assert report["triedAll"]
    assert "nearest" not in report


def test_names_that_are_meant() -> None:
    """Not only single letters are mistaken; a prefix may be missing."""
    assert suggested_edit.find_similar_words("gpu-memory-gb", ["gpu-mem-gb", "pool"]) == [
        "gpu-mem-gb"
    ]
    assert suggested_edit.find_similar_words("zone", ["topology.kubernetes.io/zone"]) == [
        "topology.kubernetes.io/zone"
    ]
    assert suggested_edit.find_similar_words("disktype", ["arch", "os"]) == []


def test_two_obstacles_are_told_where_no_edit_helps() -> None:
    """The node with the fewest obstacles is named, with all of them."""
    tainted = _node("n1", {"taints": [TAINT], "unschedulable": True})
    items = [_node("n2", {"taints": [TAINT]}, cpu="100m"), tainted]
    report = desk.study_pod([*items, clusters.pod("p", nodeSelector={"x": "y"})])
    assert report["edits"] == []
    assert report["nearest"] == {
        "node": "n1",
        "alike": [],
        "more": 0,
        "obstacles": [
            {
                "by": "NodeUnschedulable",
                "reason": "node(s) were unschedulable",
                "evidence": "spec.unschedulable is true",
            },
            {
                "by": "TaintToleration",
                "reason": "node(s) had untolerated taint(s)",
                "evidence": "dedicated=gpu:NoSchedule",
            },
            {
                "by": "NodeAffinity",
                "reason": "node(s) didn't match Pod's node affinity/selector",
                "evidence": "no label x, wanted x In (y)",
            },
        ],
    }


def test_every_obstacle_is_somebodys() -> None:
    """A pod that names its node, which is not there, has no obstacle that nobody says."""
    field = {"key": "metadata.name", "operator": "In", "values": ["n9"]}
    terms = {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    items = [_node(spec={"taints": [TAINT]}), clusters.pod("p", affinity={"nodeAffinity": terms})]
    report = desk.study_pod(items)
    told = [each["by"] for each in report["nearest"]["obstacles"]]
    assert told == ["TaintToleration", "NodeAffinity"]


def test_preemption_names_its_victims() -> None:
    """Where a less important pod could leave, it is said which one."""
    low = clusters.pod("low", cpu="3500m", on="n1", priority=1)
    report = desk.study_pod([_node(), low, clusters.pod("p", priority=100)])
    assert report["preemption"] == {"node": "n1", "victims": ["prod/low"]}
    assert desk.study_pod([_node(), low, clusters.pod("p")])["preemption"] is None


def test_equal_nodes_are_named() -> None:
    """Room may be made on any of them; of the nearest ones that no edit helps the first few."""
    nodes = [_node(f"n{number}") for number in range(7)]
    placed = [clusters.pod(f"on-{number}", cpu="4", on=f"n{number}") for number in range(7)]
    report = desk.study_pod([*nodes, *placed, clusters.pod("p")])
    (free,) = [each for each in report["edits"] if each["kind"] == "free"]
    assert (free["nodes"], free["more"]) == (["n0", "n1", "n2", "n3", "n4"], 2)
    hopeless = desk.study_pod([*nodes, clusters.pod("p", cpu="9", nodeSelector={"x": "y"})])
    nearest = hopeless["nearest"]
    assert (nearest["node"], nearest["alike"]) == ("n0", ["n1", "n2", "n3", "n4"])
    assert nearest["more"] == 2


def test_nodes_with_other_evidence_are_not_equal() -> None:
    """The numbers in the obstacles of the nearest node are true of all nodes that are named."""
    nodes = [_node("n0"), _node("n1", cpu="3"), _node("n2")]
    report = desk.study_pod([*nodes, clusters.pod("p", cpu="9", nodeSelector={"x": "y"})])
    nearest = report["nearest"]
    assert (nearest["node"], nearest["alike"], nearest["more"]) == ("n0", ["n2"], 0)


def test_edits_of_many_nodes_are_tried_on_few() -> None:
    """The others are counted."""
    nodes = [_node(f"n{number}", {"taints": [TAINT]}) for number in range(9)]
    report = desk.study_pod([*nodes, clusters.pod("p")])
    (untaint,) = [each for each in report["edits"] if each["kind"] == "taint"]
    assert (untaint["nodes"], untaint["more"]) == (["n0", "n1", "n2", "n3", "n4"], 4)


def test_trials_end() -> None:
    """What could not be tried is owned up to."""
    nodes = [_node(f"n{number}", {"taints": [TAINT]}) for number in range(9)]
    report = desk.study_pod([*nodes, clusters.pod("p")], limits=trials.TrialLimits(trials=2))
    assert not report["triedAll"]
    names = [node["metadata"]["name"] for node in nodes]
    assert [each["nodes"] for each in report["edits"]] == [names, ["n0"]]


def test_edits_for_one_node() -> None:
    """Asked about a node, only what helps there is told, even if the pod fits elsewhere."""
    items = [_node("n1", {"taints": [TAINT]}), _node("n2"), clusters.pod("p")]
    report = desk.study_pod(items, node="n1")
    assert [each["kind"] for each in report["edits"]] == ["toleration", "taint"]
    assert all(each["nodes"] == ["n1"] for each in report["edits"])
    assert "flips" in desk.study_pod(items, node="n2")


def test_an_edit_of_a_rule_has_its_place() -> None:
    """Other edits have none."""
    items = [_node(cpu="8"), clusters.pod("p", cpu="7")]
    policy = _policy("reject when free(cpu) - requests(cpu) < 2 as spare")
    edits = desk.study_pod(items, policy)["edits"]
    assert [(each["target"], each.get("file"), each.get("line")) for each in edits] == [
        ("pod", None, None),
        ("policy", "t.policy", 5),
        ("policy", "t.policy", 5),
    ]


@pytest.mark.parametrize(
    "others, placed",
    [
        pytest.param([], {"exists": True, "fits": True, "best": True}, id="again"),
        pytest.param(
            [_node("n2", cpu="64")], {"exists": True, "fits": True, "best": False}, id="elsewhere"
        ),
        pytest.param(
            [clusters.pod("a", cpu="3500m", on="n1")],
            {"exists": True, "fits": False, "best": False},
            id="no more",
        ),
    ],
)
def test_a_placed_pod_is_decided_again(others: list[desk.Object], placed: desk.Report) -> None:
    """Its own requests do not count, those of others do."""
    report = desk.study_pod([_node(), clusters.pod("p", on="n1", cpu="3"), *others])
    assert report["placed"] == {"node": "n1", **placed}


def test_a_pod_on_a_node_that_is_gone() -> None:
    """The node is named all the same."""
    report = desk.study_pod([_node(), clusters.pod("p", on="gone")])
    assert report["placed"] == {"node": "gone", "exists": False, "fits": False, "best": False}


@pytest.mark.parametrize("items, policy, _texts", CASES)
def test_nothing_is_left_behind(items: list[desk.Object], policy: str, _texts: list[str]) -> None:
    """After all trials the cluster is as it was: the plain report is the same as before."""
    fresh = desk.decider(items, policy).explain_pod("prod/p")
    used = desk.decider(items, policy)
    pod_explaining.explain_pod(used, "prod/p", clocks.ManualClock(builders.EPOCH))
    assert used.explain_pod("prod/p") == fresh
