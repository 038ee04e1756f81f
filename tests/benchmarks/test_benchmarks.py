"""The benchmarks themselves: workloads as data, ratios, profiles, and one small run."""

from __future__ import annotations

import collections
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks import comparison, profiles, report, schedulers, workload_files

if TYPE_CHECKING:
    import pathlib

CASE = comparison.Case("plain", nodes=10, pods=100)


def _measurement(scheduler: str, repeat: int, seconds: float) -> comparison.Measurement:
    return comparison.Measurement(
        CASE,
        scheduler,
        repeat,
        start_seconds=1.0,
        bind_seconds=seconds,
        pods_per_second=CASE.pods / seconds,
        events_behind_seconds=seconds,
        cpu_seconds=seconds / 2,
        server_cpu_seconds=seconds,
        total_cpu_seconds=seconds,
        peak_memory_mib=100.0,
    )


@pytest.mark.parametrize("name", workload_files.names())
def test_kinds_get_their_shares(name: str) -> None:
    """Any beginning of a backlog has every kind in its share, give or take one pod."""
    workload = workload_files.load(name)
    total = sum(kind["share"] for kind in workload.pod_kinds)
    for count in (total, 10 * total + 1):
        made = workload.pods(count, "default-scheduler")
        kinds = collections.Counter(pod["metadata"]["name"].rpartition("-")[0] for pod in made)
        for kind in workload.pod_kinds:
            assert abs(kinds[kind["name"]] - count * kind["share"] / total) <= 1
    assert len({node["metadata"]["name"] for node in workload.nodes(50)}) == 50


def test_pods_know_their_app() -> None:
    """`$app` stands for the pod's app in labels and selectors alike."""
    pods = workload_files.load("mixed").pods(60, "default-scheduler")
    assert "$app" not in json.dumps(pods)
    together = next(pod for pod in pods if pod["metadata"]["name"] == "pod-affinity-0")
    [term] = together["spec"]["affinity"]["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["labelSelector"]["matchLabels"] == together["metadata"]["labels"]


def test_ratios_are_of_the_same_repeat() -> None:
    """Each repeat gives one ratio; the table shows their median, smallest and largest."""
    seconds = {schedulers.KUBE_SCHEDULER: (2.0, 4.0, 8.0), schedulers.POLICYSCHED: (1.0, 1.0, 1.0)}
    made = [
        _measurement(name, repeat, one)
        for name, all_seconds in seconds.items()
        for repeat, one in enumerate(all_seconds)
    ]
    shown = report.text(made)
    assert "pods/s: 4.00 (2.00-8.00)" in shown
    assert "CPU: 0.25 (0.12-0.50)" in shown
    assert len(json.loads(report.json(made))) == len(made)


def test_samples_are_told_apart_by_purpose_and_library(tmp_path: pathlib.Path) -> None:
    """A stack counts for the first purpose that it touches and for the library at its end."""
    loop = "/usr/lib/python3.11/asyncio/base_events.py:BaseEventLoop.run_forever"
    binding = "/src/policysched/kube/binding.py:ApiBinder.bind"
    aiohttp = "/venv/lib/python3.11/site-packages/aiohttp/client.py:ClientSession._request"
    plugin = "/src/policysched/plugins/node_name.py:NodeName.filter"
    samples = tmp_path / "samples"
    samples.write_text(
        f"6 {loop};{binding};{aiohttp}\n3 {loop};{plugin}\n1 /src/policysched/__main__.py:run\n",
        encoding="utf-8",
    )
    rows = [line.rsplit(maxsplit=2) for line in profiles.tables(samples, 10, 1.0).splitlines()]
    shares = {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}
    assert shares["binding requests"] == ("60.0%", "60000")
    assert shares["scheduling cycle: plugins"] == ("30.0%", "30000")
    assert shares["start and imports"] == ("10.0%", "10000")
    assert shares["aiohttp"] == ("60.0%", "60000")
    assert shares["policysched.plugins"] == ("30.0%", "30000")


def test_explain_is_timed() -> None:
    """Both pods are explained on a dump that is made for it; no limit is set here."""
    words = ["explain", "--nodes", "30", "--pods", "2", "--repeat", "1"]
    command = [sys.executable, "-m", "benchmarks", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.startswith("30 nodes, 60 placed pods, ")
    assert [row.split(":")[0].strip() for row in rows] == ["default/fits", "default/pending"]


@pytest.mark.e2e
def test_a_small_comparison(tmp_path: pathlib.Path) -> None:
    """One command binds the same backlog with both schedulers and prints their ratio."""
    out = tmp_path / "measurements.json"
    words = ["--nodes", "20", "--pods", "60", "--repeat", "1", "--shapes", "mixed"]
    command = [sys.executable, "-m", "benchmarks", *words, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "policysched / kube-scheduler, pods/s:" in done.stdout
    measurements = json.loads(out.read_text(encoding="utf-8"))
    assert {one["scheduler"] for one in measurements} == set(schedulers.NAMES)


@pytest.mark.parametrize("shape", workload_files.names())
def test_the_algorithm_alone(shape: str) -> None:
    """Without a server every pod of a workload finds a place."""
    words = ["--nodes", "30", "--pods", "60", "--repeat", "1", "--shapes", shape]
    command = [sys.executable, "-m", "benchmarks", "algorithm", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [row] = [line.split() for line in done.stdout.splitlines() if line.startswith(shape)]
    assert row[:4] == [shape, "30", "60", "60"]
