"""TASPolicy of Intel's Telemetry Aware Scheduling.

docs/import.md says in which cases TAS itself does otherwise by a defect.
"""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from tests.importing import deciding

LOAD = {"metricname": "node_load", "operator": "GreaterThan", "target": 80}
MEMORY = {"metricname": "free_memory", "operator": "LessThan", "target": 10}
COOL = {"metricname": "node_load", "operator": "LessThan"}


def _policy(**strategies: Any) -> str:
    policy = {
        "apiVersion": "telemetry.intel.com/v1alpha1",
        "kind": "TASPolicy",
        "metadata": {"name": "scheduling-policy", "namespace": "default"},
        "spec": {"strategies": strategies},
    }
    return deciding.as_yaml(policy)


def _verdict(folder: pathlib.Path, text: str, metrics: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a pod of the policy, on as many nodes as the metrics name."""
    nodes = sorted({name for values in metrics.values() for name in values})
    ours = deciding.pod(
        "ours",
        {"telemetry-policy": "scheduling-policy"},
        requests={"cpu": "100m", "telemetry/scheduling": "1"},
    )
    cluster = deciding.listed(*map(deciding.node, nodes), ours, deciding.pod("other"))
    imported = deciding.convert(text)
    deciding.require_accepted(imported)
    samples = {
        name: {node: str(v) for node, v in values.items()} for name, values in metrics.items()
    }
    mine, others = deciding.verdicts(folder, cluster, imported.policy, samples, "policysched")
    assert others["feasible"] == len(nodes), "pods without the label are left alone"
    return mine


def _rules(verdict: dict[str, Any]) -> dict[str, list[str]]:
    return {
        node: [each["rule"] for each in said["all"]]
        for node, said in verdict["nodes"].items()
        if not said["ok"]
    }


METRICS: dict[str, dict[str, Any]] = {
    "node_load": {"hot": 90, "limit": 80, "cool": 20, "unknown": "_", "full": 10},
    "free_memory": {"hot": 50, "limit": 50, "cool": 50, "unknown": 50, "full": 5},
}


@pytest.mark.parametrize(
    "operator, rejected",
    [
        pytest.param(
            "anyOf",
            {"hot": ["dontschedule-1"], "full": ["dontschedule-2"]},
            id="any",
        ),
        pytest.param(None, {"hot": ["dontschedule-1"], "full": ["dontschedule-2"]}, id="default"),
        pytest.param("allOf", {}, id="all"),
    ],
)
def test_dontschedule_keeps_pods_from_nodes_that_violate_it(
    operator: str | None, rejected: dict[str, list[str]], tmp_path: pathlib.Path
) -> None:
    """Targets are exclusive, and a node without data passes."""
    strategy: dict[str, Any] = {"rules": [LOAD, MEMORY]}
    if operator is not None:
        strategy["logicalOperator"] = operator
    verdict = _verdict(tmp_path, _policy(dontschedule=strategy), METRICS)
    assert _rules(verdict) == rejected


def test_all_of_the_conditions_together_keep_a_node_out(tmp_path: pathlib.Path) -> None:
    """It is violated where each of them is; equality is one of the operators."""
    third = {"metricname": "health", "operator": "Equals", "target": -1}
    strategy = {"logicalOperator": "allOf", "rules": [LOAD, third]}
    metrics = {
        "node_load": {"both": 90, "one": 90, "none": 10, "missing": 90},
        "health": {"both": -1, "one": 0, "none": 0, "missing": "_"},
    }
    verdict = _verdict(tmp_path, _policy(dontschedule=strategy), metrics)
    assert _rules(verdict) == {"both": ["dontschedule"]}


def test_one_metric_that_is_out_leaves_the_other_rules_in_force(tmp_path: pathlib.Path) -> None:
    """With anyOf each condition is a rule of its own."""
    metrics = METRICS | {"node_load": dict.fromkeys(METRICS["node_load"], "_")}
    verdict = _verdict(tmp_path, _policy(dontschedule={"rules": [LOAD, MEMORY]}), metrics)
    assert _rules(verdict) == {"full": ["dontschedule-2"]}


@pytest.mark.parametrize(
    "operator, best, points",
    [
        pytest.param("LessThan", ["a"], {"a": 100, "b": 50, "c": 0, "gone": 0}, id="less"),
        pytest.param("GreaterThan", ["c"], {"a": 0, "b": 50, "c": 100, "gone": 0}, id="greater"),
    ],
)
def test_scheduleonmetric_orders_nodes_by_the_metric(
    operator: str, best: list[str], points: dict[str, int], tmp_path: pathlib.Path
) -> None:
    """By rank; a node without data is last."""
    strategy = {"rules": [COOL | {"operator": operator}]}
    metrics = {"node_load": {"a": 1, "b": 2, "c": 90, "gone": "_"}}
    verdict = _verdict(tmp_path, _policy(scheduleonmetric=strategy), metrics)
    rule = "scheduling-policy/scheduleonmetric"
    assert {node: scores[rule] for node, scores in verdict["scores"].items()} == points
    assert verdict["best"] == best


def test_many_nodes_with_data_come_before_one_without(tmp_path: pathlib.Path) -> None:
    """TAS gives negative points from the twelfth node on, so that one without data beats them."""
    loads: dict[str, Any] = {f"n{number:02}": number for number in range(20)} | {"unknown": "_"}
    strategy = {"rules": [COOL]}
    verdict = _verdict(tmp_path, _policy(scheduleonmetric=strategy), {"node_load": loads})
    totals = {name: scores["total"] for name, scores in verdict["scores"].items()}
    ranked = [name for name in loads if name != "unknown"]
    assert sorted(ranked, key=lambda name: -totals[name]) == ranked
    assert all(totals[name] > totals["unknown"] for name in ranked[:-1])


def test_both_strategies_together_decide_as_tas_means_to(tmp_path: pathlib.Path) -> None:
    """The coolest node of those that are not kept out wins."""
    strategies = {"dontschedule": {"rules": [MEMORY]}, "scheduleonmetric": {"rules": [COOL]}}
    verdict = _verdict(tmp_path, _policy(**strategies), METRICS)
    assert _rules(verdict) == {"full": ["dontschedule"]}
    assert verdict["best"] == ["cool"]


def test_the_text_says_where_everything_comes_from() -> None:
    """The whole policy, metrics, scope and profile."""
    strategies = {"dontschedule": {"rules": [LOAD]}, "scheduleonmetric": {"rules": [COOL]}}
    imported = deciding.convert(_policy(**strategies))
    assert deciding.body(imported) == [
        "metric node_load: number =",
        "`node_load`",
        "node instance refresh 15s maxAge 2m",
        "policy scheduling-policy {",
        "for pods in namespace (default) where telemetry-policy = scheduling-policy",
        "reject when node_load > 80 missing allow as dontschedule",
        "score node_load prefer low normalize rank missing score 0 as scheduleonmetric",
        "}",
        "profile policysched {",
        "policies scheduling-policy",
        'plugin NodeResourcesFit args { ignoredResources: ["telemetry/scheduling"] }',
        "}",
    ]
    assert "# line 10: spec.strategies.dontschedule.rules[0]" in imported.policy
    assert deciding.warnings(imported) == []


@pytest.mark.parametrize(
    "strategies, warned",
    [
        pytest.param(
            {"dontschedule": {"rules": [LOAD]}, "deschedule": {"rules": [LOAD]}},
            ["14: the strategy `deschedule` acts on pods that are already placed"],
            id="deschedule",
        ),
        pytest.param(
            {
                "dontschedule": {"rules": [LOAD]},
                "labeling": {"rules": [LOAD | {"labels": ["a=b"]}]},
            },
            ["14: the strategy `labeling` acts on pods that are already placed"],
            id="labeling",
        ),
        pytest.param(
            {"scheduleonmetric": {"rules": [COOL, LOAD]}},
            ["12: TAS uses only the first rule of `scheduleonmetric`; this one is left out"],
            id="a-second-order",
        ),
        pytest.param(
            {"dontschedule": {"rules": [LOAD, LOAD | {"operator": "Above"}]}},
            ["14: the operator `Above` is unknown; TAS treats the rule as never met"],
            id="operator",
        ),
        pytest.param(
            {"dontschedule": {"rules": [LOAD], "logicalOperator": "xor"}},
            ["13: `logicalOperator: xor` is neither anyOf nor allOf; anyOf is used"],
            id="logical-operator",
        ),
        pytest.param(
            {"dontschedule": {"rules": [LOAD]}, "somethingnew": {}},
            ["13: `spec.strategies.somethingnew` is not known"],
            id="unknown-strategy",
        ),
        pytest.param(
            {
                "dontschedule": {"rules": [LOAD]},
                "scheduleonmetric": {"rules": [COOL | {"operator": "Equals"}]},
            },
            ["15: `scheduleonmetric` by `Equals` orders nothing"],
            id="no-order",
        ),
    ],
)
def test_what_cannot_be_said_is_told(strategies: dict[str, Any], warned: list[str]) -> None:
    """One warning each; the rest is written."""
    imported = deciding.convert(_policy(**strategies))
    assert deciding.warnings(imported) == warned
    deciding.require_accepted(imported)


@pytest.mark.parametrize(
    "name, declared",
    [
        pytest.param("node-load", ["metric node_load: number =", '`{__name__="node-load"}`']),
        pytest.param("5m", ["metric metric_5m: number =", '`{__name__="5m"}`']),
        pytest.param("priority", ["metric metric_priority: number =", "`priority`"]),
    ],
)
def test_names_that_the_language_does_not_have(name: str, declared: list[str]) -> None:
    """The metric gets another name, the query asks for the same series."""
    imported = deciding.convert(_policy(dontschedule={"rules": [LOAD | {"metricname": name}]}))
    assert deciding.body(imported)[:2] == declared
    deciding.require_accepted(imported)


def test_several_policies_share_a_profile_and_metrics() -> None:
    """What is imported together acts together."""
    one = _policy(dontschedule={"rules": [LOAD]})
    other = one.replace("name: scheduling-policy", "name: other-policy")
    imported = deciding.convert(f"{one}---\n{other}")
    assert deciding.body(imported).count("metric node_load: number =") == 1
    assert "policies scheduling-policy, other-policy" in deciding.body(imported)
    deciding.require_accepted(imported)
