"""Decisions about the clusters of docs/from-kubernetes.md, by the code of `explain --all`."""

from __future__ import annotations

import functools
import pathlib
import tempfile
from typing import Any

from tests.importing import deciding, page_clusters

Verdict = dict[str, Any]
Cluster = list[page_clusters.Manifest]

_SEEDS = (1, 6, 18, 27, 28, 37, 42, 56, 73)
CLUSTERS = [page_clusters.draw_cluster(f"page-{number}") for number in _SEEDS]
"""Chosen of 150: each clause of the page changes a decision on at least two of them."""
OWN = "shop/web"
"""The pending pod that the page is about."""
HEAD = "policy web { for pods in namespace (shop) where app = web "
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def explain(cluster: Cluster, policy: str = "") -> dict[str, Verdict]:
    """Return the report of `explain --all` about each pending pod, by name."""
    with tempfile.TemporaryDirectory() as folder:
        verdicts = deciding.verdicts(pathlib.Path(folder), deciding.listed(*cluster), policy)
    return {each["pod"]: each for each in verdicts}


def feasible(verdict: Verdict) -> set[str]:
    """Return the nodes that pass all filters."""
    return {name for name, node in verdict["nodes"].items() if node["ok"]}


def totals(verdict: Verdict) -> dict[str, float]:
    """Return the points of the feasible nodes."""
    return {name: points["total"] for name, points in verdict["scores"].items()}


@functools.cache
def explain_plain() -> list[dict[str, Verdict]]:
    """Return the decisions without any of the pairs."""
    return [explain(cluster) for cluster in CLUSTERS]
