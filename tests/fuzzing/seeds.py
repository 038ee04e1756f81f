"""Realistic input of every kind that a command reads, before it is damaged."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import json
import pathlib
import tempfile
from typing import Any

import yaml

from policysched import _resources
from policysched.cli import main
from tests.conformance import cases as conformance
from tests.fuzzing import full_objects
from tests.karmada import cases as karmada
from tests.policytests import files as policytests

_ROOT = pathlib.Path(__file__).parents[2]
_MAX_ITEMS = 14
_MAX_TEXT = 4000
Value = Any


def _listed(items: list[Value] | tuple[Value, ...]) -> Value:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


@functools.cache
def clusters() -> list[Value]:
    """Return small clusters of all families, and one with every field."""
    found = [_listed(full_objects.cluster_items())]
    for family in conformance.FAMILIES:
        small = (r["cluster"] for r in conformance.records(family))
        found += itertools.islice((c for c in small if len(c["items"]) <= _MAX_ITEMS), 3)
    for path in ("tests/lint/cluster.yaml",):
        found.append(yaml.safe_load((_ROOT / path).read_text("utf-8")))
    return found


@functools.cache
def planes() -> list[Value]:
    """Return small Karmada control planes."""
    made = [karmada.control_plane(f"fuzz{n}", has_groups=bool(n % 2)) for n in range(6)]
    made += [karmada.control_plane(f"fuzz{n}", has_components=True) for n in range(6, 9)]
    plane = yaml.safe_load((_ROOT / "tests/lint/plane.yaml").read_text("utf-8"))
    return [*made, plane, _listed(full_objects.plane_items())]


@functools.cache
def policies() -> list[str]:
    """Return policy texts."""
    shipped = sorted(_resources.find_resource_folder("policies").glob("*.policy"))
    texts = [path.read_text("utf-8") for path in shipped]
    small = [text for text in texts if len(text) <= _MAX_TEXT]
    return [policytests.POLICY, RICH_POLICY, CLUSTER_POLICY, *small]


RICH_POLICY = """\
version 1
metric busy: ratio = `1 - rate(node_cpu_seconds_total{mode="idle"}[5m])` node instance maxAge 2m
param limit: ratio = 80%
let hot = busy > limit
policy web {
  description "web"
  owner "team"
  for pods where app = web and namespace In (prod, default)
  reject when hot missing allow as too-hot
  reject when free(cpu) - requests(cpu) < 100m as too-full
  nodeAffinity required disk In (ssd, a) or zone Exists as fast
  nodeAffinity preferred disk = ssd weight 10
  podAntiAffinity preferred pods where app = web topologyKey kubernetes.io/hostname weight 5
  topologySpread pods where app = web topologyKey zone maxSkew 1 minDomains 1
  tolerate dedicated=web:NoSchedule
  score busy prefer low missing score 0 weight 10 as quiet
}
"""
CLUSTER_POLICY = """\
version 1
metric load: ratio = `load` cluster cluster
clusterPolicy gold {
  for resources where kind In (Deployment, StatefulSet)
  reject when load > 90% missing allow as loaded
  reject when free(cpu) / allocatable(cpu) < 5% missing reject as full
  score load prefer low missing score 0 as quiet
}
"""
METRICS = [
    {"busy": {"n0": "91%", "n1": 0.4, "n2": "_", "n3": "stale", "node-1": 0.5}},
    {"metrics": {"busy": {"n0": 0.9, "node-0": "100%"}}},
]
CLUSTER_METRICS = [{"load": {"m1": "50%", "m00": 0.2, "m01": "_", "full": "stale"}}]
_SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
_RATIO = {
    "scoringStrategy": {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "cpu", "weight": 2}],
        "requestedToCapacityRatio": {"shape": _SHAPE},
    }
}
_SPREAD = {
    "defaultingType": "List",
    "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    ],
}
_IGNORED = {"name": "x.com/a", "ignoredByScheduler": True}
TEST_FILES = [
    policytests.HEAD
    + """\
tests:
- {name: placed, pod: web, expect: {node: n3}}
- name: others
  pod: {labels: {app: other}, requests: {cpu: 500m, memory: 1Gi}}
  expect: {feasible: [n1, n2, n3], rejected: {n4: TaintToleration}, policies: []}
- name: scores
  pod: web
  metrics: {busy: {n1: 10%}}
  expect: {scores: {n1: 90 ± 5}, rules: {quiet: {n1: {points: 90, raw: 10%}}}}
- name: an outage
  pod: web
  metrics: outage
  replicas: 3
  expect: {pending: 0, skipped: [too-hot, quiet], maxSkew: {zone: 3}}
""",
    """\
policies: [web.policy]
cluster: cluster.json
now: 2026-03-02T10:00:00+01:00
tests:
- {name: one, pod: {labels: {app: web}, requests: {cpu: 1}}, metrics: outage, expect: {pending: 0}}
""",
]
CONFIGS = [
    {
        "apiVersion": "policysched.io/v1alpha1",
        "kind": "PolicySchedulerConfiguration",
        "policies": {"paths": ["web.policy"], "lintErrors": "warn", "checkEverySeconds": 5},
        "params": {"limit": "70%"},
        "prometheus": {"default": {"url": "http://127.0.0.1:9", "queryParams": {"dedup": "true"}}},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 10,
        "parallelBinds": 8,
        "leaderElection": {"leaderElect": True, "leaseDuration": "15s", "renewDeadline": "10s"},
        "clientConnection": {"qps": 50, "burst": 100},
        "serving": {"secureAddress": "0.0.0.0:10259", "metricsAddress": ""},
        "logging": {"level": "info", "format": "json"},
        "features": {"SchedulerQueueingHints": True},
        "tracing": {"endpoint": "http://127.0.0.1:4318"},
    },
    {
        "apiVersion": "policysched.io/v1alpha1",
        "kind": "PolicySchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "batch",
                "plugins": [
                    {"name": "NodeResourcesFit", "args": _RATIO},
                    {"name": "InterPodAffinity", "weight": 3, "args": {"hardPodAffinityWeight": 5}},
                    {"name": "PodTopologySpread", "args": _SPREAD},
                ],
                "disabled": ["ImageLocality"],
                "disabledScores": ["TaintToleration"],
            }
        ],
    },
]
_KUBE_SCHEDULER = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 16,
    "percentageOfNodesToScore": 50,
    "podInitialBackoffSeconds": 1,
    "leaderElection": {"leaderElect": True, "leaseDuration": "15s", "resourceName": "x"},
    "clientConnection": {"kubeconfig": "/a", "qps": 50, "burst": 100},
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 3}]},
                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]},
            },
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": _RATIO},
                {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 5}},
                {"name": "PodTopologySpread", "args": _SPREAD},
            ],
        }
    ],
    "extenders": [{"urlPrefix": "http://a", "managedResources": [_IGNORED]}],
}
_LEGACY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [
        {"name": "PodFitsResources"},
        {"name": "Zone", "argument": {"labelsPresence": {"labels": ["zone"], "presence": True}}},
    ],
    "priorities": [
        {"name": "LeastRequestedPriority", "weight": 1},
        {
            "name": "Ratio",
            "weight": 2,
            "argument": {
                "requestedToCapacityRatioArguments": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
                    "resources": [{"name": "cpu", "weight": 1}],
                }
            },
        },
    ],
    "hardPodAffinitySymmetricWeight": 10,
}
_TAS = {
    "apiVersion": "telemetry.intel.com/v1alpha1",
    "kind": "TASPolicy",
    "metadata": {"name": "scheduling-policy", "namespace": "default"},
    "spec": {
        "strategies": {
            "dontschedule": {
                "rules": [{"metricname": "load", "operator": "GreaterThan", "target": 80}]
            },
            "scheduleonmetric": {"rules": [{"metricname": "load", "operator": "LessThan"}]},
        }
    },
}
_STATIC_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
    "spec": {
        "containers": [
            {
                "name": "kube-scheduler",
                "command": [
                    "kube-scheduler",
                    "--leader-elect=true",
                    "--config=/etc/c.yaml",
                    "--v=2",
                ],
                "args": ["--feature-gates=SchedulerQueueingHints=false", "--kube-api-qps=20"],
            }
        ]
    },
}


@functools.cache
def imports() -> list[Value]:
    """Return what other schedulers are configured with."""
    pods = [each for each in full_objects.cluster_items() if each["kind"] == "Pod"]
    in_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": {"policy.cfg": json.dumps(_LEGACY, indent=1)},
    }
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pods[0]["spec"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    found = [_KUBE_SCHEDULER, _LEGACY, _TAS, _STATIC_POD, in_map, deployment, *pods]
    return [*found, _listed([_STATIC_POD, in_map])]


COMMAND_LINES = [
    "kube-scheduler --leader-elect=true --config=config.yaml --profiling=false --v 2",
    "kube-scheduler --algorithm-provider ClusterAutoscalerProvider --feature-gates=A=true,B=0",
    "kube-scheduler --scheduler-name=mine --kube-api-qps=20 --kube-api-burst=9 --secure-port 10259",
    "kube-scheduler --hard-pod-affinity-symmetric-weight=20 --leader-elect-lease-duration=8s",
    "kube-scheduler --pod-max-in-unschedulable-pods-duration=1m30s --policy-config-file=policy.cfg",
]


@functools.cache
def trees() -> list[Value]:
    """Return syntax trees, as `ast -o json` prints them."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for text in policies()[:3]:
            path = pathlib.Path(folder, "a.policy")
            path.write_text(text, "utf-8")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                main.main(["ast", str(path), "-o", "json"])
            found.append(json.loads(printed.getvalue()))
    return found


@functools.cache
def manifests() -> list[Value]:
    """Return ConfigMaps of policies."""
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "policies", "namespace": "kube-system"},
            "data": {"web.policy": text, "notes": "x"},
        }
        for text in policies()[:4]
    ]


LINT_SETTINGS = [
    """\
[lint]
select = ["PS2", "PS801"]
ignore = ["PS802"]
"""
]
DECISIONS = {
    "kept": 1,
    "limit": 1000,
    "decisions": [
        {
            "pod": "prod/web",
            "uid": "u1",
            "attempt": 2,
            "time": "2026-01-05T12:00:00+00:00",
            "waitedSeconds": 1.25,
            "decidedSeconds": 0.00085,
            "endedSeconds": 0.0124,
            "points": [
                {"point": "Filter", "code": "Success", "startedSeconds": 0.0, "seconds": 0.0004}
            ],
            "profile": "policysched",
            "policies": ["web"],
            "policyHash": "3f2a91c0ffee",
            "result": "scheduled",
            "node": "n2",
            "message": "",
            "nodes": 12,
            "feasible": 11,
            "prefilter": None,
            "rejections": [
                {
                    "plugin": "Policy",
                    "code": "UnschedulableAndUnresolvable",
                    "reasons": ["node(s) rejected by policy web/too-hot"],
                    "policy": "web",
                    "rule": "too-hot",
                    "line": 9,
                    "nodes": 1,
                    "examples": ["n7"],
                }
            ],
            "best": ["n2"],
            "scores": {"n2": {"web/quiet": 61.5, "total": 147.5}},
            "nominatedNode": "",
            "victims": [],
            "evidence": [],
        }
    ],
}
