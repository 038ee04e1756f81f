"""The numbers and names behind a rejection: each filter, each kind of rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from policysched import quantity
from policysched.framework import node_evidence
from tests import examples
from tests.cli import clusters
from tests.explaining import desk, test_edit_claims

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
CACHE = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "cache"}}}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "rack",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
DISK = {"name": "v", "gcePersistentDisk": {"pdName": "d"}}
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}


def _policy(rule: str) -> str:
    metric = "metric busy: ratio = `b` node instance"
    return f"version 1\n{metric}\npolicy w {{\n  for pods\n  {rule}\n}}\n"


def _node() -> desk.Object:
    node = clusters.node("n1", zone="a")
    node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    node["status"]["nodeInfo"] = {"kubeletVersion": "v1.29.3"}
    return node


def _claim(**spec: Any) -> desk.Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "namespace": "prod",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {"accessModes": ["ReadWriteOnce"], **spec},
    }


def _volume(handle: str) -> desk.Object:
    source = {"driver": "d.csi", "volumeHandle": handle}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": handle},
            "spec": {"csi": source}}  # fmt: skip


def _owned(owner: str) -> desk.Object:
    pod = clusters.pod("p")
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": owner, "controller": True}
    ]
    return pod


def _csi_node() -> desk.Object:
    driver = {"name": "d.csi", "nodeID": "n1", "allocatable": {"count": 0}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "n1"},
        "spec": {"drivers": [driver]},
    }


def _class() -> desk.Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _unbound() -> desk.Object:
    claim = _claim(storageClassName="fast", resources={"requests": {"storage": "1Gi"}})
    claim["metadata"]["annotations"] = {}
    return claim


NODE_AFFINITY = {
    "nodeAffinity": {
        REQUIRED: {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]},
            ]
        }
    }
}

CASES = [
    pytest.param(
        [clusters.pod("a", on="n1", volumes=[DISK]), clusters.pod("p", volumes=[DISK])],
        "",
        {"VolumeRestrictions": "prod/a on n1"},
        id="a disk",
    ),
    pytest.param(
        [
            clusters.pod("a", on="n1", volumes=[CLAIM]),
            clusters.pod("p", volumes=[CLAIM]),
            _claim(accessModes=["ReadWriteOncePod"], volumeName="v1"),
            _volume("v1"),
        ],
        "",
        {"VolumeRestrictions": "claim data: prod/a on n1"},
        id="a claim in use",
    ),
    pytest.param(
        [
            clusters.pod("p", volumes=[CLAIM]),
            _claim(volumeName="v1"),
            _volume("v1"),
            _csi_node(),
        ],
        "",
        {"NodeVolumeLimits": "driver d.csi: 1 more would exceed the limit of the CSINode"},
        id="too many volumes",
    ),
    pytest.param(
        [clusters.pod("p", volumes=[CLAIM]), _unbound(), _class()],
        "",
        {"VolumeBinding": "claim data, class fast"},
        id="no volume",
    ),
    pytest.param(
        [clusters.pod("p", affinity={"podAffinity": {REQUIRED: [CACHE]}})],
        "",
        {"InterPodAffinity": "no matching pod where zone=a"},
        id="no company",
    ),
    pytest.param(
        [
            clusters.pod("a", on="n1", affinity={"podAntiAffinity": {REQUIRED: [WEB]}}),
            clusters.pod("p"),
        ],
        "",
        {"InterPodAffinity": "prod/a on n1 (topologyKey zone)"},
        id="anti-affinity of a placed pod",
    ),
    pytest.param(
        [clusters.pod("p", topologySpreadConstraints=[SPREAD])],
        "",
        {"PodTopologySpread": "no label rack"},
        id="no topology label",
    ),
    pytest.param(
        [clusters.pod("p", affinity=NODE_AFFINITY)],
        "",
        {"NodeAffinity": "no label disk, wanted disk Exists or zone=a, wanted zone NotIn (a)"},
        id="two terms",
    ),
    pytest.param(
        [clusters.pod("p", cpu="3500m")],
        _policy("reject when free(cpu) - requests(cpu) < 2 as spare"),
        {"spare": "free(cpu) - requests(cpu) = 0.5 < 2 (free(cpu) 4, requests(cpu) 3.5)"},
        id="a rule over free() and requests()",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy("reject when not (free(memory) >= 9Gi) as small"),
        {"small": "free(memory) 8Gi < 9Gi"},
        id="a negated comparison",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy(
            "reject when 2 > free(cpu) or (busy > 50% and requests(cpu) > 500m) "
            "missing allow as tight"
        ),
        {"tight": "busy 90% > 50%, sample 0s old; requests(cpu) 1 > 0.5"},
        id="a metric and a request",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy("reject when label(gen) < 3 missing reject as old"),
        {"old": "label(gen) missing < 3"},
        id="a label that is no number",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy("reject when annotation(watts) < 3 missing reject as unmeasured"),
        {"unmeasured": "annotation(watts) missing < 3"},
        id="an annotation that is no number",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy("nodeAffinity required condition(DiskPressure) = False as healthy"),
        {"healthy": "no condition DiskPressure"},
        id="a condition that the node does not have",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy(
            "reject when node(condition(Ready) = True and annotation(rack) DoesNotExist "
            "and nodeInfo(kubeletVersion) < 1.30) as old"
        ),
        {"old": "condition Ready=True; no annotation rack; kubelet version v1.29.3"},
        id="facts of a node",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy("reject when node(zone = a) and free(pods) > 5 as here"),
        {"here": "zone=a; free(pods) 110 > 5"},
        id="a label and a count",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy("reject when node(zone = a) and pod(app != db and requests(cpu) <= 2) as other"),
        {"other": "zone=a; pod app=web; requests(cpu) 1 <= 2"},
        id="a label and a request of the pod",
    ),
    pytest.param(
        [clusters.pod("p", priority=3)],
        _policy("reject when not pod(tier Exists or priority > 5 or qosClass = BestEffort) as low"),
        {"low": "pod without label tier; priority 3 <= 5; pod qosClass Burstable"},
        id="what the pod has not",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy("reject when not pod(limits(memory) <= 4Gi) as unlimited"),
        {"unlimited": "no limits(memory)"},
        id="a limit of the pod that is missing",
    ),
    pytest.param(
        [
            clusters.pod("p", volumes=[CLAIM]),
            _claim(
                volumeName="v1",
                storageClassName="slow",
                resources={"requests": {"storage": "300Gi"}},
            ),
            _volume("v1"),
        ],
        _policy(
            "reject when pod(storageClass = slow) and node(zone = a) as slow "
            "reject when requests(storage) > 200Gi as large "
            "reject when pod(requests(storage) >= 300Gi) as larger"
        ),
        {
            "slow": "pod storageClass slow; zone=a",
            "large": "requests(storage) 300Gi > 200Gi",
            "larger": "requests(storage) 300Gi >= 300Gi",
        },
        id="what claims request",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy(
            "reject when pod(storageClass != fast) as other "
            "reject when not pod(requests(storage) > 0) as stateless"
        ),
        {"other": "pod storageClass unset", "stateless": "requests(storage) 0 <= 0"},
        id="a pod without claims",
    ),
    pytest.param(
        [_owned("ingest-1")],
        _policy(
            "reject when pod(owner(name) = ingest-1) and node(zone = a) as jobs "
            "nodeAffinity required zone = pod(owner(name)) missing reject as own-zone"
        ),
        {
            "jobs": "pod owner(name) ingest-1; zone=a",
            "own-zone": "zone=a; pod owner(name)=ingest-1",
        },
        id="the name of the owner",
    ),
    pytest.param(
        [clusters.pod("p")],
        _policy("topologySpread self topologyKey rack maxSkew 1 as even"),
        {"even": "no label rack"},
        id="no topology label of a rule",
    ),
]


@pytest.mark.parametrize("items, policy, evidence", CASES)
def test_the_numbers_and_names_behind_a_rejection(
    items: list[desk.Object], policy: str, evidence: dict[str, str]
) -> None:
    """Each one who rejects the node tells what it saw there."""
    items = [_node(), *items]
    report = desk.study_pod(items, policy, {"busy": {"n1": 0.9}} if "busy" in policy else None)
    told = report["nodes"]["n1"]["all"]
    assert {each["rule"] or each["plugin"]: each.get("evidence") for each in told} == evidence


@settings(
    max_examples=examples.scale(25), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(world=test_edit_claims.worlds())
def test_no_rejection_goes_without(world: Any) -> None:
    """On random clusters there is evidence behind every reason; amounts add up."""
    items, policy, metrics = world
    report = desk.study_pod(items, policy, metrics)
    sizes = {item["metadata"]["name"]: item.get("status", {}) for item in items}
    for name, verdict in report["nodes"].items():
        for each in verdict["all"]:
            assert each["evidence"]
            if each["reason"].startswith("Insufficient "):
                resource = each["reason"].removeprefix("Insufficient ")
                size = each["evidence"].rpartition(" ")[2]
                allocatable = sizes[name]["allocatable"][resource]
                assert quantity.parse_milli_units(size) == quantity.parse_milli_units(allocatable)


def test_nodes_that_nobody_asks_about_have_none() -> None:
    """Evidence costs time, so it is computed for those nodes alone that are to be printed."""
    items = [clusters.node("n1", cpu="1m"), clusters.node("n2", cpu="1m"), clusters.pod("p")]
    nodes = desk.decider(items).explain_pod("prod/p", ("n2",))["nodes"]
    told = {name: [each.get("evidence") for each in nodes[name]["all"]] for name in nodes}
    assert told == {"n1": [None], "n2": ["requests 1, 1m free of 1m"]}


def test_decisions_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked for evidence when pods are placed."""

    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(node_evidence.NodeEvidence, "on_node", fail)
    items = [clusters.node("n1", cpu="1m"), clusters.pod("p")]
    (placement,) = desk.decider(items).simulate_placements()
    assert placement.node is None
