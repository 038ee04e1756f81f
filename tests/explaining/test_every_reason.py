from __future__ import annotations

from tests.cli import clusters
from tests.explaining import desk

POLICY = """\
version 1
metric busy: ratio = `b` node instance
policy w {
  for pods
  nodeAffinity required disk = ssd as fast
  podAffinity required pods where app = cache topologyKey zone as near-cache
  podAntiAffinity required pods where app = noisy topologyKey zone as apart
  topologySpread self topologyKey zone maxSkew 1 nodeAffinityPolicy Ignore as even
  reject when busy > 50% missing allow as hot
  reject when free(cpu) < 1 as full
}
"""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SELECTS_NOISY = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "noisy"}}}


SPREAD = "zone=a has 2 matching pods, 3 with this one; the domain with the fewest has 0; maxSkew 1"
NOISY = "prod/noisy-0 on bad, prod/noisy-1 on bad"
EVIDENCE = {
    ("NodeUnschedulable", "spec.unschedulable is true"),
    ("TaintToleration", "t:NoSchedule"),
    ("NodeAffinity", "disk=hdd, wanted disk In (ssd)"),
    ("NodePorts", f"port 80/TCP: {NOISY}"),
    ("NodeResourcesFit", "2 pods on the node, 2 allowed"),
    ("NodeResourcesFit", "requests 1, 500m free of 1500m"),
    ("NodeResourcesFit", "requests 9Gi, 8Gi free of 8Gi"),
    ("NodeResourcesFit", "requests 1, 0 free of 0"),
    ("VolumeBinding", "claim data is bound to vol"),
    ("VolumeZone", "topology.kubernetes.io/zone=z2, the volume is in z1"),
    ("PodTopologySpread", SPREAD),
    ("InterPodAffinity", f"{NOISY} (topologyKey zone)"),
    ("fast", "disk=hdd"),
    ("near-cache", "no pod of the set where zone=a"),
    ("apart", f"{NOISY} (topologyKey zone)"),
    ("even", SPREAD),
    ("hot", "busy 90% > 50%, sample 0s old"),
    ("full", "free(cpu) 0.5 < 1"),
}
"""The numbers and names behind each reason."""


def _who(failure: desk.Object) -> str:
    return str(failure["rule"] or failure["plugin"])


def test_every_one_who_rejects_a_node_is_told() -> None:
    """A node with everything against it: each filter and each kind of policy rule has its say."""
    bad = clusters.node("bad", cpu="1500m", zone="a", disk="hdd")
    bad["metadata"]["labels"]["topology.kubernetes.io/zone"] = "z2"
    bad["spec"] = {
        "unschedulable": True,
        "taints": [{"key": "t", "value": "", "effect": "NoSchedule"}],
    }
    bad["status"]["allocatable"]["pods"] = "2"
    good = clusters.node("good", zone="b", disk="ssd")
    good["metadata"]["labels"]["topology.kubernetes.io/zone"] = "z1"
    noisy = [clusters.pod(f"noisy-{n}", on="bad", cpu="500m") for n in range(2)]
    for each in noisy:
        each["metadata"]["labels"] = {"app": "noisy"}
        each["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    pod = clusters.pod(
        "p",
        nodeSelector={"disk": "ssd"},
        affinity={"podAntiAffinity": {REQUIRED: [SELECTS_NOISY]}},
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "nodeAffinityPolicy": "Ignore",
                "labelSelector": {"matchLabels": {"app": "noisy"}},
            }
        ],
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
    )
    pod["metadata"]["labels"] = {"app": "noisy"}
    pod["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    pod["spec"]["containers"][0]["resources"]["requests"] |= {"memory": "9Gi", "x.y/gpu": "1"}
    report = desk.study_pod(
        [bad, good, *noisy, pod, *_volume()], POLICY, {"busy": {"bad": 0.9, "good": 0.1}}
    )
    told = report["nodes"]["bad"]["all"]
    assert {each["plugin"] for each in told if each["rule"] is None} == {
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    }
    assert {each["rule"] for each in told} - {None} == {
        "fast",
        "near-cache",
        "apart",
        "even",
        "hot",
        "full",
    }
    assert {(_who(each), each.get("evidence")) for each in told} == EVIDENCE
    lacking = [each["reason"] for each in told if each["plugin"] == "NodeResourcesFit"]
    assert lacking == [
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient x.y/gpu",
    ]


def _volume() -> list[desk.Object]:
    """Return a claim that is bound to a volume of the zone z1."""
    term = {
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}],
    }
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "data",
                "namespace": "prod",
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {"volumeName": "vol", "accessModes": ["ReadWriteOnce"]},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "vol", "labels": {"topology.kubernetes.io/zone": "z1"}},
            "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}},
        },
    ]
