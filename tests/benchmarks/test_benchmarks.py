"""The benchmarks as commands, on small clusters, and profiles."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks import __main__ as commands
from benchmarks import profiles, schedulers

if TYPE_CHECKING:
    import pathlib


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
    assert shares["kube/binding.py:ApiBinder.bind"] == ("60.0%", "60000")
    assert shares["plugins/node_name.py:NodeName.filter"] == ("30.0%", "30000")


def test_explain_is_timed() -> None:
    """Both pods are explained on a dump that is made for it; no limit is set here."""
    words = ["explain", "--nodes", "30", "--pods", "2", "--repeat", "1"]
    command = [sys.executable, "-m", "benchmarks", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.startswith("30 nodes, 60 placed pods, ")
    assert [row.split(":")[0].strip() for row in rows] == ["default/fits", "default/pending"]


def test_every_benchmark_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """The help names all first words, and what stands behind each explains itself."""
    with pytest.raises(SystemExit):
        commands.main(["--help"])
    shown = capsys.readouterr().out
    for word in commands.COMMANDS:
        assert f"  {word} " in shown
        with pytest.raises(SystemExit) as ended:
            commands.main([word, "--help"])
        assert ended.value.code == 0
        assert f"python -m benchmarks {word}" in capsys.readouterr().out


@pytest.mark.e2e
def test_a_small_comparison_goes_on_where_it_stopped(tmp_path: pathlib.Path) -> None:
    """Both schedulers bind the same backlog and the same arrivals; a rerun adds what is missing."""
    results = tmp_path / "results.jsonl"
    plan = tmp_path / "own.yaml"
    plan.write_text(_PLAN, encoding="utf-8")
    words = ["--plan", str(plan), "--results", str(results)]
    first = _benchmarks(*words)
    assert first.returncode == 0, first.stderr
    kept = results.read_text(encoding="utf-8").splitlines(keepends=True)
    made = [json.loads(line) for line in kept]
    assert [one["scheduler"] for one in made] == [*_BOTH, *_BOTH]
    assert {one["quality"]["broken_rules"] for one in made} == {0}
    assert [one["bound"] for one in made] == [45, 45, 40, 40]
    results.write_text("".join(kept[:3]), encoding="utf-8")
    second = _benchmarks(*words)
    assert second.returncode == 0, second.stderr
    assert results.read_text(encoding="utf-8").startswith("".join(kept[:3]))
    assert len(results.read_text(encoding="utf-8").splitlines()) == 4
    assert "policysched / kube-scheduler: pods/s" in second.stdout
    assert "unschedulable, 20 nodes" not in second.stderr


_BOTH = [schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED]
_PLAN = """
description: small
repeats: 1
cases:
  - {workloads: [unschedulable], nodes: [20], pods: 50}
  - {workloads: [mixed], nodes: [20], pods: 40, arrivals_per_second: [40]}
"""


def _benchmarks(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shape", ["plain", "mixed"])
def test_the_algorithm_alone(shape: str) -> None:
    """Without a server every pod of a workload finds a place."""
    words = ["--nodes", "30", "--pods", "60", "--repeat", "1", "--shapes", shape]
    command = [sys.executable, "-m", "benchmarks", "algorithm", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [row] = [line.split() for line in done.stdout.splitlines() if line.startswith(shape)]
    assert row[:4] == [shape, "30", "60", "60"]


def test_the_algorithm_beside_kube_schedulers_own() -> None:
    """Both place the pods that fit: each of 40 pods repels the others, and there are 30 nodes."""
    words = ["--nodes", "30", "--pods", "40", "--repeat", "1", "--shapes", "pod-anti-affinity"]
    command = [sys.executable, "-m", "benchmarks", "algorithm", "--all-nodes", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    free = str(30 - 6)  # a fifth of the nodes has such a pod from the beginning
    assert [row[:5] for row in rows] == [
        ["pod-anti-affinity", "30", "40", free, name]
        for name in ("kube-scheduler", "kube-scheduler", "policysched")
    ]
