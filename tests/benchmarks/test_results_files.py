"""Results files: no run is lost or mixed, and one benchmark writes at a time."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import msgspec
import pytest

from benchmarks import workload_files
from benchmarks.comparison import compare, schedulers
from benchmarks.records import measurements, origins, results
from tests.benchmarks import runs

if TYPE_CHECKING:
    from collections.abc import Mapping

KUBE, OURS = schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED
CUT = b'{"case":{"work'


def test_results_are_read_back(tmp_path: pathlib.Path) -> None:
    """Added runs are in the file when it is read again, in the same order."""
    file = tmp_path / "new" / "results.jsonl"
    measured = [runs.run(KUBE, 0, 1.0), runs.run(OURS, 0, 0.5)]
    runs.store(file, *measured)
    assert results.Results(file).measurements == measured


def test_an_incomplete_line_is_removed(tmp_path: pathlib.Path) -> None:
    """A killed benchmark loses the run that it was writing, and reading changes nothing."""
    file = runs.store(tmp_path / "results.jsonl", runs.run(KUBE, 0, 1.0))
    whole = file.read_bytes()
    file.write_bytes(whole + CUT)
    assert [run.scheduler for run in results.Results(file).measurements] == [KUBE]
    with results.Results(file).opened():
        assert file.read_bytes() == whole + CUT
    runs.store(file, runs.run(OURS, 0, 1.0))
    assert file.read_bytes().startswith(whole + b"{")
    assert [run.scheduler for run in results.Results(file).measurements] == [KUBE, OURS]


def test_every_beginning_of_a_line_is_cut_off(tmp_path: pathlib.Path) -> None:
    """A benchmark may be killed at any byte of a line; the next one continues."""
    line = msgspec.json.encode(runs.run(KUBE, 0, 1.5))
    file = tmp_path / "results.jsonl"
    for length in range(1, len(line)):
        file.write_bytes(line[:length])
        assert results.Results(file).measurements == []


@pytest.mark.parametrize("between", [b"", b" ", b"\r"], ids=["nothing", "blank", "old line end"])
def test_whole_measurements_are_never_cut(between: bytes, tmp_path: pathlib.Path) -> None:
    """Two measurements on one line are an error, and the file is not changed."""
    line = msgspec.json.encode(runs.run(KUBE, 0, 1.5))
    file = tmp_path / "results.jsonl"
    file.write_bytes(line + between + line)
    with pytest.raises(results.ResultsError, match="jsonl:1: not a measurement"):
        results.Results(file)
    file.write_bytes(line + between + CUT)
    with pytest.raises(results.ResultsError, match="jsonl:1: not a measurement"):
        results.Results(file)


def test_a_last_line_without_an_end_counts(tmp_path: pathlib.Path) -> None:
    """An editor that removes the last line end loses no run."""
    file = runs.store(tmp_path / "results.jsonl", runs.run(KUBE, 0, 1.0))
    file.write_bytes(file.read_bytes().rstrip())
    runs.store(file, runs.run(OURS, 0, 1.0))
    assert [run.scheduler for run in results.Results(file).measurements] == [KUBE, OURS]


@pytest.mark.parametrize(
    "content",
    [b'{"some": "thing"}\n', b"one line", b"one line\nand another", b'{"case":1}', b"\xff\n"],
    ids=["other JSON", "one line", "two lines", "no measurement", "no text"],
)
@pytest.mark.parametrize("words", [["--report"], ["--list"], []], ids=["report", "list", "run"])
def test_other_files_are_not_changed(
    content: bytes, words: list[str], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file with other content causes an error that names the line, and keeps every byte."""
    file = tmp_path / "thesis.txt"
    file.write_bytes(content)
    assert compare.main(["--quick", *words, "--results", str(file)], "") == 2
    assert "not a measurement" in capsys.readouterr().err
    assert file.read_bytes() == content


@pytest.mark.parametrize("field", ["bound", "bind_seconds", "pods_per_second"])
def test_impossible_measurements(field: str, tmp_path: pathlib.Path) -> None:
    """A run without a pod or without a time is reported with its position."""
    run = msgspec.structs.replace(runs.run(KUBE, 0, 1.0), **{field: 0})
    file = tmp_path / "results.jsonl"
    file.write_bytes(msgspec.json.encode(run) + b"\n")
    with pytest.raises(results.ResultsError, match=rf"jsonl:1: .*\$\.{field}"):
        results.Results(file)


@pytest.mark.parametrize("word, code", [("--report", 2), ("--list", 0)])
def test_reports_and_lists_create_nothing(
    word: str, code: int, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing file is an error of a report; neither the file nor its folder is created."""
    file = tmp_path / "folder" / "results.jsonl"
    assert compare.main(["--quick", word, "--results", str(file)], "") == code
    assert list(tmp_path.iterdir()) == []
    assert ("no such file" in capsys.readouterr().err) == (code == 2)


def test_a_fresh_start_keeps_former_results(tmp_path: pathlib.Path) -> None:
    """Former results get a new name each time."""
    file = tmp_path / "results.jsonl"
    results.put_aside(file)
    for name in (KUBE, OURS, KUBE):
        runs.store(file, runs.run(name, 0, 1.0))
        results.put_aside(file)
    assert results.Results(file).measurements == []
    aside = [results.read(file.with_name(f"results.jsonl.old{end}")) for end in ("", ".2", ".3")]
    assert [[run.scheduler for run in former] for former in aside] == [[KUBE], [OURS], [KUBE]]


def test_one_benchmark_writes_at_a_time(tmp_path: pathlib.Path) -> None:
    """A second benchmark fails before it measures anything; so does a fresh start."""
    file = tmp_path / "results.jsonl"
    with results.Results(file).opened():
        with (
            pytest.raises(results.ResultsError, match="another benchmark writes"),
            results.Results(file).opened(),
        ):
            pytest.fail("it was opened twice")
        with pytest.raises(results.ResultsError, match="another benchmark writes"):
            results.put_aside(file)
    runs.store(file, runs.run(KUBE, 0, 1.0))


@pytest.mark.parametrize("path", ["/proc/nope/results.jsonl", "/dev/full", "."])
def test_a_place_that_cannot_be_written(path: str) -> None:
    """The error is reported before anything is measured."""
    with (
        pytest.raises(results.ResultsError, match="choose another file with --results"),
        results.Results(pathlib.Path(path)).opened(),
    ):
        pytest.fail("it was opened")


def test_a_full_disk(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that cannot be written is an error, and still counts."""
    stored = results.Results(tmp_path / "results.jsonl")
    monkeypatch.setattr(results, "_repair_end", _raise_no_space)
    with (
        stored.opened(),
        pytest.raises(results.ResultsError, match="cannot be written: No space left on device"),
    ):
        stored.add(runs.run(KUBE, 0, 1.0))
    assert (len(stored.measurements), stored.added) == (1, 1)


def _raise_no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


PLAIN = workload_files.load("plain")
NOW = origins.origin(PLAIN, OURS)


@pytest.mark.parametrize(
    "changed, reason",
    [
        ({}, ""),
        ({"workload": "other"}, "with another version of the workload"),
        ({"policysched": "other"}, "with another version of policysched"),
        ({"kube_scheduler": "v1.35.0"}, "with another version of kube-scheduler"),
        ({"policy": "other"}, "with another version of the policy"),
        ({"flags": ("--x",)}, "with other flags of policysched"),
    ],
    ids=["same", "workload", "policysched", "kube-scheduler", "policy", "flags"],
)
def test_runs_with_other_inputs_are_excluded(
    changed: Mapping[str, str], reason: str, tmp_path: pathlib.Path
) -> None:
    """They are neither done nor in medians; they are counted by reason."""
    origin = msgspec.structs.replace(NOW, **changed)
    run = msgspec.structs.replace(runs.run(OURS, 0, 1.0), origin=origin)
    stored = results.Results(runs.store(tmp_path / "r.jsonl", run), origins.judge())
    assert len(stored.keys()) == (0 if reason else 1)
    assert dict(stored.excluded) == ({reason: 1} if reason else {})


def test_runs_of_other_machines_are_excluded(tmp_path: pathlib.Path) -> None:
    """Ratios of two machines are never in one median."""
    run = msgspec.structs.replace(runs.run(OURS, 0, 1.0), origin=NOW, machine="64 cores")
    stored = results.Results(runs.store(tmp_path / "r.jsonl", run), origins.judge())
    assert not stored.keys()
    assert dict(stored.excluded) == {"on another machine, or with another Python": 1}


def test_the_report_counts_excluded_runs(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs of older benchmarks and of removed workloads are counted; all can be shown."""
    gone = measurements.Case("gone", nodes=10, pods=100)
    odd = msgspec.structs.replace(runs.run(OURS, 0, 1.0, gone), origin=NOW)
    file = runs.store(tmp_path / "r.jsonl", runs.run(KUBE, 0, 1.0), runs.run(OURS, 0, 1.0), odd)
    words = ["--report", "--results", str(file)]
    assert compare.main(words, "") == 0
    shown = capsys.readouterr().out
    assert "excluded: 2 runs by an older benchmark, which recorded no inputs" in shown
    assert "excluded: 1 run of a workload, policy or base that no longer exists" in shown
    assert compare.main([*words, "--all-versions"], "") == 0
    shown = capsys.readouterr().out
    assert "policysched / kube-scheduler: pods/s 1.00" in shown
    assert "excluded" not in shown


def test_a_run_counts_once(tmp_path: pathlib.Path) -> None:
    """If lines were merged by hand, the first run of a repeat counts."""
    file = runs.store(tmp_path / "r.jsonl", runs.run(OURS, 0, 1.0), runs.run(OURS, 0, 2.0))
    stored = results.Results(file)
    assert [run.bind_seconds for run in stored.measurements] == [1.0]
    assert dict(stored.excluded) == {"with the case, scheduler and repeat of an earlier run": 1}


def test_broken_rules_fail(tmp_path: pathlib.Path) -> None:
    """If a run broke a rule, the exit code of the report is 1."""
    quality = msgspec.structs.replace(runs.run(OURS, 0, 1.0).quality, broken_rules=1)
    run = msgspec.structs.replace(runs.run(OURS, 0, 1.0), quality=quality, origin=NOW)
    file = runs.store(tmp_path / "r.jsonl", run)
    assert compare.main(["--report", "--results", str(file)], "") == 1


def test_an_edited_policysched_is_reported(tmp_path: pathlib.Path) -> None:
    """Runs of two versions never get the same hash, even if files change during a run."""
    options = schedulers.Options(base=make_checkout(tmp_path))
    before = origins.origin(PLAIN, schedulers.BASE, options)
    assert before.policysched != NOW.policysched
    origins.check_unchanged(options)
    (tmp_path / "grammar" / "new.lark").touch()
    with pytest.raises(workload_files.FileError, match="changed after the benchmark had begun"):
        origins.check_unchanged(options)


def make_checkout(folder: pathlib.Path) -> pathlib.Path:
    """Return a folder that looks like a checkout with an environment."""
    for name in ("policysched", "grammar", ".venv/bin"):
        (folder / name).mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").touch()
    return folder


def test_runs_of_another_base_are_excluded(tmp_path: pathlib.Path) -> None:
    """The version of the base counts, not its folder."""
    base, other = (make_checkout(tmp_path / name) for name in ("base", "other"))
    options = schedulers.Options(base=base)
    origin = origins.origin(PLAIN, schedulers.BASE, options)
    run = msgspec.structs.replace(runs.run(schedulers.BASE, 0, 1.0), origin=origin)
    assert origins.judge(schedulers.Options(base=other))(run) == ""
    (other / "policysched" / "new.py").touch()
    assert "another version" in origins.judge(options)(
        msgspec.structs.replace(run, origin=origins.origin(PLAIN, OURS))
    )
    assert "no longer exists" in origins.judge()(run)


def test_a_base_needs_an_environment(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without an environment is an error before anything runs."""
    assert compare.main(["--quick", "--base", str(tmp_path)], "") == 2
    assert (
        "is not a checkout with an environment; run `make .venv/ready`" in capsys.readouterr().err
    )


def test_workloads_differ_in_their_hash() -> None:
    """Two workloads have two hashes; the text of a policy is one of the inputs of a run."""
    assert origins.origin(workload_files.load("mixed"), OURS).workload != NOW.workload
    with_policy = origins.origin(PLAIN, schedulers.with_policy("rules-10"))
    assert msgspec.structs.replace(with_policy, policy="") == NOW
    assert with_policy.policy
