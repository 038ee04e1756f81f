"""Clusters and bindings of a Karmada control plane, for tests of the page."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

POLICY = """\
clusterPolicy shop {
  for resources in namespace shop
  clusterGroup near where region = eu
  clusterGroup far where region = us
  reject when free(cpu) < 2 as full
  score LeastAllocated(cpu: 1) weight 5 as room
}
"""


def make_cluster(name: str, cpu: str = "10", region: str = "", **more: Any) -> Object:
    """Return a Cluster that serves Deployments; `more` are labels, `taint`s and the like."""
    taints = [{"key": more.pop("taint"), "effect": "NoSchedule"}] if "taint" in more else []
    used = more.pop("used", "0")
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name, "labels": more},
        "spec": {"region": region, "taints": taints},
        "status": {
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}],
            "resourceSummary": {
                "allocatable": {"cpu": cpu, "pods": "110"},
                "allocated": {"cpu": used},
            },
        },
    }


def make_binding(
    name: str, replicas: int = 4, on: dict[str, int] | None = None, **placement: Any
) -> Object:
    """Return a binding of a Deployment whose replicas are divided by free capacity."""
    divided = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "resource": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": name,
                "namespace": "shop",
            },
            "replicas": replicas,
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
            "clusters": [{"name": c, "replicas": n} for c, n in (on or {}).items()],
            "placement": {"replicaScheduling": divided, **placement},
        },
    }


def make_items() -> list[Object]:
    """Return four clusters, and a binding for each outcome."""
    gold = {"labelSelector": {"matchLabels": {"tier": "gold"}}}
    none = {"clusterNames": ["elsewhere"]}
    return [
        make_cluster("a", region="eu", tier="gold"),
        make_cluster("b", "20", region="us", tier="gold", used="4"),
        make_cluster("c", region="eu", taint="cluster.karmada.io/not-ready"),
        make_cluster("d", "1", region="us"),
        make_binding("moves", on={"d": 4}, clusterAffinity=gold),
        make_binding("new", clusterAffinity=gold),
        make_binding("stays", 3, on={"a": 1, "b": 2}, clusterAffinity=gold),
        make_binding("nowhere", clusterAffinity=none),
        make_binding("loses", on={"a": 4}, clusterAffinity=none),
    ]
