"""Policy: predicates and priorities."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from policysched import errors
from tests.importing import deciding

CLASSIC = """\
{
	"kind" : "Policy",
	"apiVersion" : "v1",
	"predicates" : [
		{"name" : "PodFitsPorts"},
		{"name" : "PodFitsResources"},
		{"name" : "NoDiskConflict"},
		{"name" : "MatchNodeSelector"},
		{"name" : "HostName"}
	],
	"priorities" : [
		{"name" : "LeastRequestedPriority", "weight" : 1},
		{"name" : "BalancedResourceAllocation", "weight" : 1},
		{"name" : "ServiceSpreadingPriority", "weight" : 1},
		{"name" : "EqualPriority", "weight" : 1}
	]
}
"""
"""The example that came with Kubernetes."""
MOST = "{ scoringStrategy: { type: MostAllocated } }"


def _policy(**fields: Any) -> str:
    return json.dumps({"kind": "Policy", "apiVersion": "v1"} | fields)


def test_the_classic_example_is_converted() -> None:
    """Predicates switch filters on, priorities scores; what is named by neither is off."""
    imported = deciding.convert(CLASSIC)
    assert deciding.body(imported) == [
        "profile default-scheduler {",
        "plugin PodTopologySpread weight 1",
        "disable scores TaintToleration",
        "disable scores NodeAffinity",
        "disable NodeVolumeLimits, VolumeBinding, VolumeZone, InterPodAffinity, ImageLocality",
        "}",
    ]
    assert deciding.told(imported) == [
        (
            "warning 14: `ServiceSpreadingPriority` no longer exists; PodTopologySpread with its "
            "default constraints replaces it"
        ),
        "warning 14: `PodTopologySpread` only scores here; policysched's filters too",
        "note 15: `EqualPriority` gives every node the same points",
    ]
    deciding.require_accepted(imported)


def test_the_classic_example_decides_as_its_predicates_and_priorities_say(
    tmp_path: pathlib.Path,
) -> None:
    """Filters by selector, ports and resources; the emptiest of what is left is best."""
    web = deciding.pod("web", nodeSelector={"disk": "ssd"}, requests={"cpu": "2", "memory": "4Gi"})
    web["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    taken = deciding.pod("taken", nodeName="ports")
    taken["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    busy = deciding.pod("busy", nodeName="busy", requests={"cpu": "4", "memory": "8Gi"})
    ssd = {"disk": "ssd"}
    cluster = deciding.listed(
        deciding.node("hdd", {"disk": "hdd"}),
        deciding.node("small", ssd, cpu="1"),
        deciding.node("ports", ssd),
        deciding.node("busy", ssd),
        deciding.node("empty", ssd),
        web,
        taken,
        busy,
    )
    (verdict,) = deciding.verdicts(
        tmp_path, cluster, deciding.convert(CLASSIC).policy, None, "default-scheduler"
    )
    rejected = {name: each["plugin"] for name, each in verdict["nodes"].items() if not each["ok"]}
    assert rejected == {"hdd": "NodeAffinity", "small": "NodeResourcesFit", "ports": "NodePorts"}
    assert verdict["best"] == ["empty"]
    points = {name for scores in verdict["scores"].values() for name in scores}
    assert points & {"NodeAffinity", "TaintToleration", "ImageLocality"} == set()
    # By the formulas of the two priorities: requested after the pod is 2/8 and 6/8 of each.
    assert verdict["scores"]["empty"]["NodeResourcesFit"] == 75
    assert verdict["scores"]["busy"]["NodeResourcesFit"] == 25
    assert (
        verdict["scores"]["busy"]["NodeResourcesBalancedAllocation"]
        == (verdict["scores"]["empty"]["NodeResourcesBalancedAllocation"])
    )


@pytest.mark.parametrize(
    "fields, lines, warned",
    [
        pytest.param(
            {},
            [
                "plugin TaintToleration weight 1",
                "plugin NodeAffinity weight 1",
                "plugin InterPodAffinity weight 1",
            ],
            [],
            id="the-defaults",
        ),
        pytest.param(
            {
                "priorities": [
                    {"name": "MostRequestedPriority", "weight": 4},
                    {"name": "NodeAffinityPriority", "weight": 3},
                    {"name": "TaintTolerationPriority", "weight": 3},
                    {"name": "InterPodAffinityPriority", "weight": 2},
                    {"name": "EvenPodsSpreadPriority", "weight": 2},
                    {"name": "ImageLocalityPriority", "weight": 1},
                    {"name": "BalancedResourceAllocation", "weight": 1},
                ],
                "hardPodAffinitySymmetricWeight": 10,
                "alwaysCheckAllPredicates": True,
            },
            [
                "plugin NodeAffinity weight 3",
                f"plugin NodeResourcesFit weight 4 args {MOST}",
                "plugin InterPodAffinity args { hardPodAffinityWeight: 10 }",
            ],
            [],
            id="priorities",
        ),
        pytest.param(
            {
                "predicates": [
                    {
                        "name": "Rack",
                        "argument": {"labelsPresence": {"labels": ["rack"], "presence": True}},
                    },
                    {
                        "name": "Retiring",
                        "argument": {
                            "labelsPresence": {"labels": ["old", "older"], "presence": False}
                        },
                    },
                    {"name": "GeneralPredicates"},
                    {"name": "MatchInterPodAffinity"},
                    {"name": "EvenPodsSpread"},
                ],
                "priorities": [
                    {
                        "name": "Ssd",
                        "weight": 2,
                        "argument": {"labelPreference": {"label": "ssd", "presence": True}},
                    },
                    {
                        "name": "Gpus",
                        "weight": 5,
                        "argument": {
                            "requestedToCapacityRatioArguments": {
                                "shape": [
                                    {"utilization": 0, "score": 0},
                                    {"utilization": 100, "score": 10},
                                ],
                                "resources": [{"name": "nvidia.com/gpu", "weight": 3}],
                            }
                        },
                    },
                    {"name": "LeastRequestedPriority", "weight": 1},
                ],
            },
            [
                "policy default-scheduler-rules {",
                "for pods",
                "nodeAffinity required rack Exists",
                "nodeAffinity required old DoesNotExist and older DoesNotExist",
                "score node(ssd Exists) weight 2",
                "score LeastAllocated() weight 1",
                "}",
                "profile default-scheduler {",
                "policies default-scheduler-rules",
                "plugin NodeResourcesFit weight 5 args {",
                "scoringStrategy: {",
                "type: RequestedToCapacityRatio,",
                'resources: [{ name: "nvidia.com/gpu", weight: 3 }],',
                "requestedToCapacityRatio: {",
                "shape: [{ utilization: 0, score: 0 }, { utilization: 100, score: 10 }],",
                "},",
                "},",
                "}",
                "disable scores TaintToleration",
                "disable scores NodeAffinity",
                (
                    "disable VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, "
                    "NodeResourcesBalancedAllocation, ImageLocality"
                ),
                "disable scores PodTopologySpread",
                "disable scores InterPodAffinity",
            ],
            [],
            id="arguments",
        ),
        pytest.param(
            {
                "predicates": [
                    {"name": "Svc", "argument": {"serviceAffinity": {"labels": ["zone"]}}},
                    {"name": "PodFitsResource"},
                ],
                "priorities": [
                    {
                        "name": "Apart",
                        "weight": 1,
                        "argument": {"serviceAntiAffinity": {"label": "zone"}},
                    },
                    {"name": "NodePreferAvoidPodsPriority", "weight": 10000},
                    {"name": "ResourceLimitsPriority", "weight": 1},
                    {"name": "ImageLocalityPriority", "weight": 0},
                    {"name": "NodeAffinityPriority", "weight": 1},
                    {"name": "Nonsense", "weight": 1},
                ],
                "more": 1,
            },
            [
                "plugin NodeAffinity weight 1",
                (
                    "disable NodeName, NodePorts, NodeResourcesFit, VolumeRestrictions, "
                    "NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, "
                    "InterPodAffinity, NodeResourcesBalancedAllocation, ImageLocality"
                ),
                "disable scores TaintToleration",
            ],
            [
                "1: `Svc` keeps the pods of a service on nodes with equal zone",
                "1: the predicate `PodFitsResource` is not known",
                "1: `Apart` spreads the pods of a service by `zone`",
                (
                    "1: `NodePreferAvoidPodsPriority` has no counterpart: Kubernetes has removed "
                    "NodePreferAvoidPods"
                ),
                (
                    "1: `ResourceLimitsPriority` has no counterpart: Kubernetes has removed "
                    "NodeResourceLimits"
                ),
                "1: `ImageLocalityPriority` has the weight 0, which kube-scheduler refuses",
                "1: the priority `Nonsense` is not known",
                "1: `NodeAffinity` only scores here; policysched's filters too",
                "1: `more` is not known",
            ],
            id="what-cannot-be-said",
        ),
    ],
)
def test_policies(fields: dict[str, Any], lines: list[str], warned: list[str]) -> None:
    """Each predicate and priority is a plugin, a rule or a warning."""
    imported = deciding.convert(_policy(**fields))
    found = deciding.body(imported)
    if lines[0].startswith("policy"):
        assert found == [*lines, "}"]
    else:
        assert found == ["profile default-scheduler {", *lines, "}"]
    assert deciding.warnings(imported) == warned
    deciding.require_accepted(imported)


def test_two_strategies_score_as_two_priorities_did(tmp_path: pathlib.Path) -> None:
    """The second becomes a rule that gives the points of the plugin it was."""
    priorities = [
        {"name": "MostRequestedPriority", "weight": 2},
        {"name": "LeastRequestedPriority", "weight": 3},
    ]
    imported = deciding.convert(_policy(priorities=priorities))
    cluster = deciding.listed(
        deciding.node("a"),
        deciding.node("b"),
        deciding.pod("there", nodeName="b", requests={"cpu": "4", "memory": "8Gi"}),
        deciding.pod("new", requests={"cpu": "2", "memory": "4Gi"}),
    )
    (verdict,) = deciding.verdicts(tmp_path, cluster, imported.policy, None, "default-scheduler")
    totals = {name: scores["total"] for name, scores in verdict["scores"].items()}
    assert totals == {"a": 2 * 25 + 3 * 75, "b": 2 * 75 + 3 * 25}


@pytest.mark.parametrize("kind", [None, "legacy-policy"])
def test_a_policy_without_kind_is_one_by_its_fields(kind: str | None) -> None:
    """Some installers wrote them like that; YAML will do too."""
    imported = deciding.convert("priorities:\n- {name: ImageLocalityPriority, weight: 2}\n", kind)
    assert "plugin ImageLocality weight 2" in deciding.body(imported)


def test_a_field_of_the_wrong_type_is_one_error() -> None:
    """With its line."""
    with pytest.raises(errors.InputError, match=r"input.yaml:1: `predicates\[0\]` must be"):
        deciding.convert(_policy(predicates=["PodFitsPorts"]))


_HEAVY = """kind: Policy
apiVersion: v1
predicates: [{name: PodFitsResources}, {name: MatchNodeSelector}]
priorities:
- name: LeastRequestedPriority
  weight: 3
- name: NodeAffinityPriority
  weight: 101
- name: Own
  weight: 250
  argument:
    labelPreference: {label: disk, presence: true}
- name: Bins
  weight: 500
  argument:
    requestedToCapacityRatioArguments:
      shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
"""


def test_a_weight_that_is_too_great_is_reported_at_its_line() -> None:
    """Nothing is said of a division if the weights have no common divisor."""
    imported = deciding.convert(_HEAVY)
    deciding.require_accepted(imported)
    too_heavy = [
        f"warning {line}: the weight {weight} is too large; 100 is used"
        for line, weight in ((8, 101), (10, 250), (14, 500))
    ]
    assert [each for each in deciding.told(imported) if "weight" in each] == too_heavy
    assert "divided" not in imported.text


def test_weights_with_a_common_divisor_are_divided() -> None:
    """The comment at each weight that is written says by what; the fourth one is the default."""
    text = _HEAVY.replace("weight: 3\n", "weight: 50\n").replace("101", "150")
    imported = deciding.convert(text)
    deciding.require_accepted(imported)
    assert not [each for each in deciding.told(imported) if "weight" in each]
    assert imported.text.count("all weights divided by 50") == 3
