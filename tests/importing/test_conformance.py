"""Imported configurations decide as kube-scheduler does with the originals."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import yaml

from tests.conformance import compare, oracle_process
from tests.conformance.generate import families
from tests.importing import deciding

pytestmark = pytest.mark.e2e

CASES = 5
RATIO = {
    "type": "RequestedToCapacityRatio",
    "resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}],
    "requestedToCapacityRatio": {
        "shape": [{"utilization": 0, "score": 2}, {"utilization": 70, "score": 10}]
    },
}
SPREAD = {"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone"}
ADDED = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {
            "weight": 5,
            "preference": {
                "matchExpressions": [
                    {"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["a"]}
                ]
            },
        }
    ]
}


def _args(name: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args}


@pytest.mark.parametrize(
    "family, plugin_config, weights, disabled",
    [
        pytest.param(
            "images",
            [_args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})],
            {},
            [],
            id="most-allocated",
        ),
        pytest.param(
            "images",
            [_args("NodeResourcesFit", scoringStrategy=RATIO)],
            {"NodeResourcesFit": 10},
            ["NodeResourcesBalancedAllocation"],
            id="requested-to-capacity-ratio",
        ),
        pytest.param(
            "podaffinity",
            [_args("InterPodAffinity", hardPodAffinityWeight=50)],
            {"InterPodAffinity": 5},
            [],
            id="hard-pod-affinity-weight",
        ),
        pytest.param(
            "spread",
            [
                _args(
                    "PodTopologySpread",
                    defaultingType="List",
                    defaultConstraints=[SPREAD | {"whenUnsatisfiable": "DoNotSchedule"}],
                )
            ],
            {},
            ["ImageLocality"],
            id="default-constraints",
        ),
        pytest.param(
            "nodeaffinity",
            [_args("NodeAffinity", addedAffinity=ADDED)],
            {"NodeAffinity": 3, "TaintToleration": 1},
            [],
            id="added-affinity",
        ),
        pytest.param("mixed", [], {"ImageLocality": 9}, ["NodePorts", "NodeName"], id="filters"),
    ],
)
def test_a_configuration_decides_as_in_kube_scheduler(
    family: str,
    plugin_config: list[dict[str, Any]],
    weights: dict[str, int],
    disabled: list[str],
    tmp_path: pathlib.Path,
) -> None:
    """Verdicts, reasons, points and messages on generated clusters are those of its own plugins."""
    plugins = {
        "multiPoint": {"disabled": [{"name": name} for name in disabled]},
        "score": {"enabled": [{"name": name, "weight": w} for name, w in weights.items()]},
    }
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins, "pluginConfig": plugin_config}],
    }
    imported = deciding.convert(yaml.safe_dump(configuration))
    assert deciding.warnings(imported) == []
    oracle = {"pluginConfig": plugin_config, "weights": weights, "disabled": disabled}
    _compare(family, imported.policy, oracle, tmp_path)


def test_old_weights_decide_as_in_kube_scheduler(tmp_path: pathlib.Path) -> None:
    """A configuration of v1beta2 that says nothing means the weights of its time."""
    head = "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n"
    weights = {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}
    _compare("mixed", deciding.convert(head).policy, {"weights": weights}, tmp_path)


def test_the_autoscaler_provider_decides_as_in_kube_scheduler(tmp_path: pathlib.Path) -> None:
    """ClusterAutoscalerProvider packs nodes, with the weights of its time."""
    imported = deciding.convert_command(
        "kube-scheduler", "--algorithm-provider", "ClusterAutoscalerProvider"
    )
    oracle = {
        "weights": {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1},
        "pluginConfig": [_args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})],
    }
    _compare("images", imported.policy, oracle, tmp_path)


def test_a_legacy_policy_decides_as_the_plugins_that_it_names(tmp_path: pathlib.Path) -> None:
    """Priorities are weights, and a plugin of which nothing is said is off."""
    priorities = {
        "BalancedResourceAllocation": ("NodeResourcesBalancedAllocation", 4),
        "EvenPodsSpreadPriority": ("PodTopologySpread", 3),
        "InterPodAffinityPriority": ("InterPodAffinity", 5),
        "MostRequestedPriority": ("NodeResourcesFit", 2),
        "NodeAffinityPriority": ("NodeAffinity", 6),
        "TaintTolerationPriority": ("TaintToleration", 1),
    }
    policy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "priorities": [{"name": name, "weight": w} for name, (_, w) in priorities.items()],
        "hardPodAffinitySymmetricWeight": 30,
    }
    imported = deciding.convert(json.dumps(policy))
    assert deciding.told(imported) == []
    oracle = {
        "weights": dict(priorities.values()),
        "disabled": ["ImageLocality"],
        "pluginConfig": [
            _args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}),
            _args("InterPodAffinity", hardPodAffinityWeight=30),
        ],
    }
    for family in ("mixed", "podaffinity", "images"):
        _compare(family, imported.policy, oracle, tmp_path)


def _compare(family: str, policy: str, config: dict[str, Any], folder: pathlib.Path) -> None:
    scored = 0
    with oracle_process.Oracle() as oracle:
        for number in range(CASES):
            cluster = families.case(family, 11, number)["cluster"]
            theirs = oracle.ask(cluster, oracle_process.VERDICT, config=config)
            ours = deciding.verdicts(folder, cluster, policy, None, "default-scheduler")
            found = list(compare.differences({"verdict": ours}, theirs))
            assert not found, f"{found[0]}\n{json.dumps(cluster)}"
            scored += sum(verdict["feasible"] > 1 for verdict in ours)
    assert scored, "no pod had a choice"
