"""The benchmarks as commands, on small clusters, and profiles."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from benchmarks import __main__ as commands
from benchmarks.comparison import schedulers, starting
from benchmarks.cycle import algorithm, in_process
from benchmarks.process import profiles
from benchmarks.records import results as results_files
from benchmarks.running import reloads
from tests.benchmarks import runs
from tests.realcluster import process

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_SECONDS = 150.0


def test_samples_are_counted_by_purpose_and_library(tmp_path: pathlib.Path) -> None:
    """A stack counts for the first purpose that it touches and for the library at its end."""
    loop = "/usr/lib/python3.11/asyncio/base_events.py:BaseEventLoop.run_forever"
    binding = "/src/policysched/kube/writing/binding.py:ApiBinder.bind"
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
    assert shares["kube/writing/binding.py:ApiBinder.bind"] == ("60.0%", "60000")
    assert shares["plugins/node_name.py:NodeName.filter"] == ("30.0%", "30000")


@pytest.mark.slow
def test_explain_is_timed() -> None:
    """Both pods are explained on a new dump; the time has no limit here."""
    words = ["explain", "--nodes", "30", "--pods", "2", "--repeat", "1"]
    command = [sys.executable, "-m", "benchmarks", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.startswith("30 nodes, 60 placed pods, ")
    assert [row.split(":")[0].strip() for row in rows] == ["default/fits", "default/pending"]


def test_every_benchmark_has_a_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The help lists all first words, and each of these benchmarks has a help of its own."""
    with pytest.raises(SystemExit):
        commands.main(["--help"])
    shown = capsys.readouterr().out
    for word in commands.COMMANDS:
        assert f"  {word} " in shown
        with pytest.raises(SystemExit) as ended:
            commands.main([word, "--help"])
        assert ended.value.code == 0
        assert f"python -m benchmarks {word}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        "algorithm --repeat 0",
        "algorithm --pods -5",
        "algorithm --scheduler-name nope",
        "karmada --clusters 0",
        "karmada --bindings 0",
        "karmada --kill-at 2",
        "mass-deletions --seconds 0",
        "mass-deletions --deletions 51",
        "metrics --minutes 0",
        "policies --pods 10",
        "policies --pods-are odd",
        "policies --rules nope",
        "reloads --nodes 0",
        "reloads --placed 600 --nodes 5",
        "shadow --pods 50",
        "start --caches hot",
    ],
)
def test_wrong_words_are_a_usage_error(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 3, and one line names the wrong option."""
    with pytest.raises(SystemExit) as ended:
        commands.main(words.split())
    assert ended.value.code == 3
    *_, last = capsys.readouterr().err.splitlines()
    assert f"argument {words.split()[1]}: " in last


def test_policies_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Policies that cannot be read are wrong input, not wrong usage."""
    assert commands.main(["algorithm", "--policies", "/nope"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "/nope" in line


def test_rows_of_starts() -> None:
    """A row has the medians of the runs of one scheduler with one state of the page cache."""
    starts = starting.Starts(runs.CASE, [], schedulers.Options())
    for repeat, seconds in enumerate((1.0, 2.0, 4.0)):
        run = runs.run(schedulers.POLICYSCHED, repeat, seconds)
        starts.runs.setdefault(("cold", run.scheduler), []).append(run)
    [row] = starting.format_rows(starts)
    assert row.split(maxsplit=4) == [
        "10",
        "100",
        "cold",
        "policysched",
        "1.00 (1.00 to 1.00)   1.00 (0.50 to 2.00)   5.00 (3.00 to 9.00)",
    ]


def test_files_that_are_read_at_a_start() -> None:
    """The package, its resources and the libraries leave the page cache before a cold start."""
    files = set(starting.list_files(schedulers.POLICYSCHED, schedulers.Options()))
    root = schedulers.CHECKOUT
    assert {root / "policysched" / "__main__.py", root / "grammar" / "policy.lark"} <= files
    assert {"numpy", "asyncio"} <= {file.parent.name for file in files}


@pytest.mark.slow
def test_readers_may_close_the_pipe() -> None:
    """A report into a closed pipe ends without a message."""
    shell = f"set -o pipefail; {sys.executable} -m benchmarks --list | true"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) in ((0, ""), (141, ""))


@pytest.mark.slow
def test_no_room_for_the_output() -> None:
    """If the output cannot be written, one line reports it."""
    command = [sys.executable, "-m", "benchmarks", "--list"]
    with pathlib.Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "cannot write the output: No space left on device\n",
    )


@pytest.mark.slow
def test_a_reload_misses_no_pod() -> None:
    """Both policies of a hundred rules are loaded while pods arrive, and all pods are placed."""
    words = ["reloads", "--nodes", "20", "--placed", "50", "--pending", "5", "--rounds", "1"]
    done = _benchmarks(*words)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    heads = [line.split(":")[0] for line in lines if line[0] != " " and "nodes" in line]
    assert heads == ["100 generated rules", "rules-100.policy"]
    missed = [line.rpartition(" ")[2] for line in lines if "were missed" in line]
    assert missed == ["0", "0"]
    assert not any("goal" in line for line in lines)  # no goal applies to 20 nodes


def test_the_goal_of_reloads() -> None:
    """The goal applies to a hundred rules at 5,000 nodes, and the median decides."""
    assert reloads.has_goal(100, 5000)
    assert not reloads.has_goal(99, 5000)
    assert not reloads.has_goal(100, 500)
    goal = "goal for 100 rules at 5,000 nodes: less than 200 ms in the median: "
    assert reloads.format_goal([0.1, 0.19, 0.3]) == f"{goal}met"
    assert reloads.format_goal([0.2, 0.2]) == f"{goal}MISSED (2 of 3 runs)"


@pytest.mark.parametrize("workload, nodes, has_goal", [("plain", 5000, True), ("plain", 50, False)])
def test_goals_of_the_algorithm(workload: str, nodes: int, *, has_goal: bool) -> None:
    """Goals apply to plain and mixed pods at 5,000 nodes, relative to kube-scheduler's sampling."""
    setting = in_process.Setting(workload, nodes, 10)
    theirs = algorithm.Measured("kube-scheduler", 10, [in_process.Timed(10, 6.0, 6.0)])
    assert algorithm.format_goal(setting, theirs, 6.0).strip() == (
        "≥ 5 met (1 of 3 runs)" if has_goal else ""
    )
    assert algorithm.format_goal(setting, theirs, 4.0).strip() == (
        "≥ 5 MISSED (1 of 3 runs)" if has_goal else ""
    )


def test_growth_with_the_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    """The cost of a pod at 15,000 nodes is judged if 1,000 nodes were measured, too."""
    algorithm.print_growth({("plain", 1000): 100.0, ("plain", 15000): 210.0}, 3)
    algorithm.print_growth({("plain", 1000): 100.0}, 3)
    assert capsys.readouterr().out.splitlines() == [
        "plain: a pod at 15,000 nodes costs 2.10 times as much as at 1,000; ≤ 2 MISSED"
    ]


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_benchmark(number: signal.Signals, tmp_path: pathlib.Path) -> None:
    """However it ends, its servers are killed and the folder of their files is removed."""
    words = ["--shapes", "plain", "--nodes", "500", "--pods", "3000", "--repeat", "1"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "benchmarks", *words]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as running:
        servers = _wait_for_servers(running)
        running.send_signal(number)
        running.wait(LIMIT_SECONDS)
    _wait_until(lambda: not any(map(_is_alive, servers)))
    _wait_until(lambda: not list(tmp_path.iterdir()))


def _wait_for_servers(running: subprocess.Popen[bytes]) -> list[int]:
    """Return the processes of a benchmark once its API server is among them."""
    children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children")

    def pids() -> list[int]:
        assert running.poll() is None
        return [int(word) for word in children.read_text(encoding="utf-8").split()]

    _wait_until(lambda: len(pids()) >= 3)  # benchmarks.process.orphans, etcd, kube-apiserver
    return pids()


def _is_alive(pid: int) -> bool:
    return process.start_ticks(pid) is not None


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)


@pytest.mark.proof
@pytest.mark.e2e
def test_a_rerun_adds_the_missing_runs(tmp_path: pathlib.Path) -> None:
    """Both schedulers bind the same backlog; a rerun adds only the missing run."""
    results = tmp_path / "results.jsonl"
    words = ["--plan", _plan(tmp_path, "{workloads: [unschedulable], nodes: [20], pods: 50}")]
    words += ["--results", str(results)]
    first = _benchmarks(*words)
    assert first.returncode == 0, first.stderr
    assert "policysched / kube-scheduler: pods/s" in first.stdout
    stored = results.read_text(encoding="utf-8").splitlines(keepends=True)
    runs = [json.loads(line) for line in stored]
    names = [schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED]
    assert [(run["scheduler"], run["bound"]) for run in runs] == [(name, 45) for name in names]
    assert {run["quality"]["broken_rules"] for run in runs} == {0}
    results.write_text(stored[0], encoding="utf-8")
    second = _benchmarks(*words)
    assert second.returncode == 0, second.stderr
    again = results.read_text(encoding="utf-8").splitlines(keepends=True)
    assert again[0] == stored[0]
    assert [json.loads(line)["scheduler"] for line in again] == names


@pytest.mark.proof
@pytest.mark.e2e
def test_a_second_checkout_runs_too(tmp_path: pathlib.Path) -> None:
    """Its policysched runs in its own environment, here the one of this checkout."""
    base = tmp_path / "base"
    base.mkdir()
    for name in ("policysched", "grammar"):
        (base / name).symlink_to(schedulers.CHECKOUT / name)
    (base / ".venv").symlink_to(sys.prefix)
    plan = _plan(tmp_path, "{workloads: [plain], nodes: [20], pods: 50}")
    file = tmp_path / "results.jsonl"
    done = _benchmarks("--plan", plan, "--base", str(base), "--results", str(file))
    assert done.returncode == 0, done.stderr
    assert "policysched / policysched@base: pods/s" in done.stdout
    runs = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert {run["scheduler"]: run["bound"] for run in runs} == dict.fromkeys(
        (schedulers.KUBE_SCHEDULER, schedulers.BASE, schedulers.POLICYSCHED), 50
    )


@pytest.mark.proof
@pytest.mark.e2e
def test_pods_arrive_and_preempt(tmp_path: pathlib.Path) -> None:
    """Pods arrive one by one at a running scheduler; a backlog needs preemption."""
    results = tmp_path / "results.jsonl"
    plan = _plan(
        tmp_path,
        "{workloads: [mixed], nodes: [20], pods: 40, arrivals_per_second: [40]}",
        "{workloads: [preemption], nodes: [8], pods: 4}",
    )
    words = ["--plan", plan, "--results", str(results), "--schedulers", "policysched"]
    done = _benchmarks(*words)
    assert done.returncode == 0, done.stderr
    arrived, preempted = results_files.read(results)
    assert (arrived.bound, preempted.bound) == (40, 4)
    assert (arrived.quality.broken_rules, preempted.quality.broken_rules) == (0, 0)


def _plan(folder: pathlib.Path, *cases: str) -> str:
    file = folder / "own.yaml"
    text = "".join(f"  - {case}\n" for case in cases)
    file.write_text(f"description: small\nrepeats: 1\ncases:\n{text}", encoding="utf-8")
    return str(file)


def _benchmarks(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["plain", "mixed"])
def test_the_algorithm_alone(shape: str) -> None:
    """Without a server, every pod of a workload finds a node."""
    words = ["--nodes", "30", "--pods", "60", "--repeat", "1", "--shapes", shape]
    command = [sys.executable, "-m", "benchmarks", "algorithm", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [row] = [line.split() for line in done.stdout.splitlines() if line.startswith(shape)]
    assert row[:4] == [shape, "30", "60", "60"]


@pytest.mark.slow
def test_the_algorithm_beside_kube_schedulers_own() -> None:
    """Both place the pods that fit: each of 40 pods repels the others, and there are 30 nodes."""
    words = ["--nodes", "30", "--pods", "40", "--repeat", "1", "--shapes", "pod-anti-affinity"]
    command = [sys.executable, "-m", "benchmarks", "algorithm", "--all-nodes", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    free = str(30 - 6)  # a fifth of the nodes has such a pod from the start
    assert [row[:5] for row in rows] == [
        ["pod-anti-affinity", "30", "40", free, name]
        for name in ("kube-scheduler", "kube-scheduler", "policysched")
    ]


@pytest.mark.proof
@pytest.mark.e2e
def test_every_deleted_pod_makes_room_for_one() -> None:
    """Both schedulers bind as many pods as were deleted; without room, policysched tries none."""
    words = ["mass-deletions", "--nodes", "3", "--waiting", "4", "--deletions", "3"]
    done = _benchmarks(*words, "--rounds", "2", "--repeat", "1")
    assert done.stderr == ""
    head, ours, theirs, *_ = (line.split() for line in done.stdout.splitlines())
    rows = [dict(zip(head, line, strict=True)) for line in (ours, theirs)]
    assert [each["scheduler"] for each in rows] == ["policysched", "kube-scheduler"]
    assert [each["bound"] for each in rows] == ["6", "6"]
    assert rows[0]["failed"] == "0"


@pytest.mark.e2e
@pytest.mark.proof
def test_bindings_are_compared_and_none_is_lost() -> None:
    """Killed midway, policysched places each binding once; each scheduler has a line."""
    words = ["karmada", "--clusters", "5", "--bindings", "60", "--bindings-real", "10"]
    command = [sys.executable, "-m", "benchmarks", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    head, theirs, ours, ratios, *_ = (line.split() for line in done.stdout.splitlines())
    rows = [dict(zip(head, line, strict=True)) for line in (theirs, ours)]
    assert [each["scheduler"] for each in rows] == ["karmada-scheduler", "policysched"]
    assert [each["bindings"] for each in rows] == ["10", "60"]
    assert [(each["lost"], each["twice"]) for each in rows] == [("0", "0"), ("0", "0")]
    assert ratios[:3] == ["policysched", "/", "karmada-scheduler:"]
