from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.openb import convert, report
from policysched.inputs import cluster_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODES = """\
sn,cpu_milli,memory_mib,gpu,model
cpu-node,32000,262144,0,
gpu-node,96000,393216,8,G2
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
late,6000,12288,1,460,,LS,Running,900,12902960,427061
early,12000,16384,4,1000,V100M16|V100M32,LS,Running,5,12537496,0
plain,500,1024,0,0,,BE,Failed,5,12537496,0
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a folder with a tiny trace."""
    (tmp_path / convert.NODES_FILE).write_text(NODES, encoding="utf-8")
    (tmp_path / convert.PODS_FILE).write_text(PODS, encoding="utf-8")
    return tmp_path


def _items(folder: pathlib.Path) -> dict[str, Any]:
    items = convert.cluster(folder)["items"]
    return {item["metadata"]["name"]: item for item in items}


def test_devices_become_thousandths_of_one_extended_resource(folder: pathlib.Path) -> None:
    """A node has 1000 for each device, a pod requests its share of each of its devices."""
    items = _items(folder)
    assert items["gpu-node"]["status"]["allocatable"] == {
        "cpu": "96000m",
        "memory": "393216Mi",
        "pods": "110",
        convert.GPU_MILLI: "8000",
    }
    assert convert.GPU_MILLI not in items["cpu-node"]["status"]["allocatable"]
    requests = {
        name: items[name]["spec"]["containers"][0]["resources"]["requests"].get(convert.GPU_MILLI)
        for name in ("late", "early", "plain")
    }
    assert requests == {"late": "460", "early": "4000", "plain": None}


def test_models_become_a_label_and_required_affinity(folder: pathlib.Path) -> None:
    """`V100M16|V100M32` is one In expression; pods for any model have no affinity."""
    items = _items(folder)
    assert items["gpu-node"]["metadata"]["labels"][convert.MODEL_LABEL] == "G2"
    (term,) = items["early"]["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": convert.MODEL_LABEL, "operator": "In", "values": ["V100M16", "V100M32"]}
    ]
    assert "affinity" not in items["late"]["spec"]


def test_pods_come_in_order_of_creation(folder: pathlib.Path) -> None:
    """The file is sorted by creation; pods created at once keep their order."""
    names = [i["metadata"]["name"] for i in convert.cluster(folder)["items"] if i["kind"] == "Pod"]
    assert names == ["early", "plain", "late"]


def test_arrivals_can_be_shuffled(folder: pathlib.Path) -> None:
    """A seed gives another order of the same pods, always the same one."""
    ordered, first, second = (convert.cluster(folder, seed)["items"] for seed in (None, 2, 2))
    assert first == second
    assert first != ordered
    assert sorted(map(str, first)) == sorted(map(str, ordered))


def test_what_the_script_writes_is_a_cluster_file(folder: pathlib.Path) -> None:
    """`simulate` can read it, with nothing skipped."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.openb.convert", str(folder)],
        capture_output=True,
        check=True,
        cwd=ROOT,
    )
    found = cluster_file.parse_cluster(done.stdout, "openb")
    assert (len(found.nodes), len(found.pods), dict(found.skipped)) == (2, 3, {})


@pytest.mark.parametrize(
    "message, reason",
    [
        pytest.param(
            "0/3 nodes are available: 1 Insufficient cpu, 2 Insufficient memory.",
            "Insufficient memory",
            id="most-nodes",
        ),
        pytest.param(
            "0/3 nodes are available: 2 Insufficient memory, 2 Insufficient cpu.",
            "Insufficient cpu and Insufficient memory",
            id="equally-many",
        ),
        pytest.param("0/1 nodes are available: 1 Too many pods.", "Too many pods", id="one"),
        pytest.param(
            "0/9 nodes are available: 7 node is busy, or nearly, 2 Insufficient cpu.",
            "node is busy, or nearly",
            id="reason-with-a-comma",
        ),
        pytest.param("scheduling gate", "scheduling gate", id="no-counts"),
    ],
)
def test_a_pending_pod_counts_for_the_reason_that_excludes_most_nodes(
    message: str, reason: str
) -> None:
    """The table says for each pod which reason kept it from most nodes."""
    assert report.find_main_reason(message) == reason


def test_a_run_is_summed_up_by_pods_devices_and_reasons() -> None:
    """Only placed pods count, and their thousandths of devices."""
    answer = json.loads(
        '{"placements": ['
        '{"pod": "default/a", "node": "n1", "message": ""},'
        '{"pod": "default/b", "node": null,'
        ' "message": "0/1 nodes are available: 1 Insufficient cpu."}]}'
    )
    seconds = report.Seconds(wall=2.5, cpu=2.0)
    found = report.summarise(answer, seconds, {"default/a": 460, "default/b": 1000})
    assert (found.placed, found.gpu_milli, found.seconds) == (1, 460, seconds)
    assert found.pending == {"Insufficient cpu": 1}


def test_what_is_left_adds_up(folder: pathlib.Path) -> None:
    """Free devices are those of the nodes without those of placed pods."""
    trace = report.Trace(folder)
    placements = [
        {"pod": "default/late", "node": "gpu-node"},
        {"pod": "default/early", "node": None},
        {"pod": "default/plain", "node": "cpu-node"},
    ]
    cells = report.make_rest_row("title", {"placements": placements}, trace)
    assert cells == ["title", "8", "0", "1", "1 request 4"]


def test_the_table_is_markdown() -> None:
    """Cells are padded to the width of their column."""
    lines = list(report.format_table([["a", "bb"], ["ccc", "d"]]))
    assert lines == ["| a   | bb |", "|-----|----|", "| ccc | d  |"]
