"""Workloads as data: shares, apps, initial pods, and errors in files."""

from __future__ import annotations

import collections
import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from benchmarks import workload_files
from benchmarks.comparison import churn

if TYPE_CHECKING:
    import pathlib

_GOOD = """\
description: two kinds
pod_counts: {0: 10, 500: 20, 5000: 30}
rough_pods_per_second: 100
zones: [a, b]
nodes: [{share: 1}]
pods:
  - {name: small, share: 3}
  - {name: big, share: 1, fits: false}
initial_per_node: 1.5
initial: [{name: there}]
"""


@pytest.mark.parametrize("name", workload_files.names())
def test_kinds_get_their_shares(name: str) -> None:
    """Every prefix of a backlog has each kind in its share, within one pod."""
    workload = workload_files.load(name)
    total = sum(kind.share for kind in workload.pod_kinds)
    for count in (total, 10 * total + 1):
        pods = workload.pods(count, "default-scheduler")
        kinds = collections.Counter(pod["metadata"]["name"].rpartition("-")[0] for pod in pods)
        for kind in workload.pod_kinds:
            assert abs(kinds[kind.name] - count * kind.share / total) <= 1
    assert len({node["metadata"]["name"] for node in workload.nodes(50)}) == 50


def test_churn_can_be_created() -> None:
    """The benchmark can create the objects of all workloads; other kinds are rejected."""
    loaded = (workload_files.load(name).churn for name in workload_files.names())
    there = [each for each in loaded if each is not None]
    assert there
    for each in there:
        churn.check(each)
    other = msgspec.structs.replace(there[0], objects=[{"kind": "Job"}])
    with pytest.raises(workload_files.FileError, match="churn cannot create a `Job`"):
        churn.check(other)


def test_pods_know_their_app() -> None:
    """The pod's app replaces `$app` in labels and in selectors."""
    pods = workload_files.load("mixed").pods(60, "default-scheduler")
    assert "$app" not in json.dumps(pods)
    together = next(pod for pod in pods if pod["metadata"]["name"] == "pod-affinity-0")
    [term] = together["spec"]["affinity"]["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["labelSelector"]["matchLabels"] == together["metadata"]["labels"]


def test_initial_pods_are_on_nodes_in_turn(tmp_path: pathlib.Path) -> None:
    """Pods that already run are assigned to all nodes in turn."""
    workload = workload_files.read(_file(tmp_path, _GOOD), workload_files.Workload)
    nodes = [node["metadata"]["name"] for node in workload.nodes(4)]
    there = [pod["spec"]["nodeName"] for pod in workload.initial_pods(4, "default-scheduler")]
    assert there == [*nodes, *nodes[:2]]


def test_pods_that_fit_nowhere_are_not_expected(tmp_path: pathlib.Path) -> None:
    """Only the kinds that fit are expected to be bound."""
    workload = workload_files.read(_file(tmp_path, _GOOD), workload_files.Workload)
    assert workload.fitting(8) == 6


@pytest.mark.parametrize(
    "nodes, pods", [(1, 10), (499, 10), (500, 20), (4999, 20), (5000, 30), (15000, 30)]
)
def test_bigger_clusters_get_more_pods(nodes: int, pods: int, tmp_path: pathlib.Path) -> None:
    """The number of pods is that of the largest size up to the number of nodes."""
    workload = workload_files.read(_file(tmp_path, _GOOD), workload_files.Workload)
    assert workload.pod_count(nodes) == pods


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("zones: [a, b]\n", "", "missing required field `zones`"),
        ("share: 3", "shares: 3", "unknown field `shares` - at `$.pods[0]`"),
        ("share: 3", "share: many", "Expected `int`, got `str` - at `$.pods[0].share`"),
        ("zones: [a, b]", "zones: [a, b", "while parsing a flow sequence"),
        ("zones: [a, b]", "zones: []", "length >= 1 - at `$.zones`"),
        ("share: 3", "share: 0", "Expected `int` >= 1 - at `$.pods[0].share`"),
        ("second: 100", "second: 0", "Expected `float` > 0.0 - at `$.rough_pods_per_second`"),
        (
            "{share: 1}",
            "{share: 1, resources: {cpu: banana}}",
            "`banana` is not a quantity of cpu, such as 500m or 1Gi - at `$.nodes[0]`",
        ),
        ("share: 3", "requests: {memory: -1Gi}", "`-1Gi` is not a quantity of memory"),
        ("initial: [{name: there}]", "", "`initial_per_node` needs `initial`"),
        ("{0: 10, ", "{0: 1, ", "Expected `int` >= 2 - at `$.pod_counts[...]`"),
        ("zones: [a, b]", "zones: 2026-13-45", "month must be in 1..12"),
        ("share: 3", "share: 3, fits: false", "no kind of `pods` fits"),
        ("share: 3", "share: 3, share: 30", "duplicate key `share`"),
        ("zones: [a, b]", "zones: [a, b]\nzones: [c]", "duplicate key `zones`"),
    ],
    ids=[
        "missing",
        "unknown",
        "wrong type",
        "no YAML",
        "no zone",
        "no share",
        "no speed",
        "no quantity",
        "negative",
        "no kind",
        "one pod",
        "no date",
        "nothing fits",
        "a key twice",
        "a field twice",
    ],
)
def test_a_wrong_file_gets_one_error(
    old: str, new: str, expected: str, tmp_path: pathlib.Path
) -> None:
    """The error names the file, the position and the reason."""
    file = _file(tmp_path, _GOOD.replace(old, new))
    with pytest.raises(workload_files.FileError) as caught:
        workload_files.read(file, workload_files.Workload)
    assert str(caught.value).startswith(f"{file}: ")
    assert expected in str(caught.value)


def test_an_unknown_workload() -> None:
    """The error lists the known workloads."""
    with pytest.raises(
        workload_files.FileError, match=r"unknown workload `simple`; known workloads are .*plain"
    ):
        workload_files.load("simple")


def _file(folder: pathlib.Path, content: str) -> pathlib.Path:
    file = folder / "workload.yaml"
    file.write_text(content, encoding="utf-8")
    return file
