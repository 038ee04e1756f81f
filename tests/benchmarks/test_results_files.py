"""Files of results: nothing is lost, nothing is mixed, one benchmark writes at a time."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import msgspec
import pytest

from benchmarks import compare, measurements, origins, results, schedulers, workload_files
from tests.benchmarks import runs

if TYPE_CHECKING:
    from collections.abc import Mapping

KUBE, OURS = schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED
CUT = b'{"case":{"work'


def test_results_come_back(tmp_path: pathlib.Path) -> None:
    """What was added to a file is there when it is opened again, in the same order."""
    file = tmp_path / "new" / "results.jsonl"
    made = [runs.run(KUBE, 0, 1.0), runs.run(OURS, 0, 0.5)]
    runs.kept(file, *made)
    assert results.Results(file).measurements == made


def test_half_a_line_is_taken_away(tmp_path: pathlib.Path) -> None:
    """A killed benchmark loses the run that it was writing, and reading changes nothing."""
    file = runs.kept(tmp_path / "results.jsonl", runs.run(KUBE, 0, 1.0))
    whole = file.read_bytes()
    file.write_bytes(whole + CUT)
    assert [one.scheduler for one in results.Results(file).measurements] == [KUBE]
    with results.Results(file).opened():
        assert file.read_bytes() == whole + CUT
    runs.kept(file, runs.run(OURS, 0, 1.0))
    assert file.read_bytes().startswith(whole + b"{")
    assert [one.scheduler for one in results.Results(file).measurements] == [KUBE, OURS]


def test_every_beginning_of_a_line_is_cut_off(tmp_path: pathlib.Path) -> None:
    """Wherever a benchmark was killed while it wrote, the next one goes on."""
    line = msgspec.json.encode(runs.run(KUBE, 0, 1.5))
    file = tmp_path / "results.jsonl"
    for length in range(1, len(line)):
        file.write_bytes(line[:length])
        assert results.Results(file).measurements == []


@pytest.mark.parametrize("between", [b"", b" ", b"\r"], ids=["nothing", "blank", "old line end"])
def test_whole_measurements_are_never_cut(between: bytes, tmp_path: pathlib.Path) -> None:
    """Two on one line without an end are an error, and stay."""
    line = msgspec.json.encode(runs.run(KUBE, 0, 1.5))
    file = tmp_path / "results.jsonl"
    file.write_bytes(line + between + line)
    with pytest.raises(results.ResultsError, match="jsonl:1: this is no measurement"):
        results.Results(file)
    file.write_bytes(line + between + CUT)
    with pytest.raises(results.ResultsError, match="jsonl:1: this is no measurement"):
        results.Results(file)


def test_a_last_line_without_an_end_counts(tmp_path: pathlib.Path) -> None:
    """An editor that takes the last line end away loses no run."""
    file = runs.kept(tmp_path / "results.jsonl", runs.run(KUBE, 0, 1.0))
    file.write_bytes(file.read_bytes().rstrip())
    runs.kept(file, runs.run(OURS, 0, 1.0))
    assert [one.scheduler for one in results.Results(file).measurements] == [KUBE, OURS]


@pytest.mark.parametrize(
    "content",
    [b'{"some": "thing"}\n', b"one line", b"one line\nand another", b'{"case":1}', b"\xff\n"],
    ids=["other JSON", "one line", "two lines", "no measurement", "no text"],
)
@pytest.mark.parametrize("words", [["--report"], ["--list"], []], ids=["report", "list", "run"])
def test_another_file_is_left_alone(
    content: bytes, words: list[str], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of something else gets an error that names the line, and keeps every byte."""
    file = tmp_path / "thesis.txt"
    file.write_bytes(content)
    assert compare.main(["--quick", *words, "--results", str(file)], "") == 2
    assert "this is no measurement" in capsys.readouterr().err
    assert file.read_bytes() == content


@pytest.mark.parametrize("field", ["bound", "bind_seconds", "pods_per_second"])
def test_what_cannot_have_been_measured(field: str, tmp_path: pathlib.Path) -> None:
    """A run without a pod, or without a time, is told with its place."""
    one = msgspec.structs.replace(runs.run(KUBE, 0, 1.0), **{field: 0})
    file = tmp_path / "results.jsonl"
    file.write_bytes(msgspec.json.encode(one) + b"\n")
    with pytest.raises(results.ResultsError, match=rf"jsonl:1: .*\$\.{field}"):
        results.Results(file)


@pytest.mark.parametrize("word, code", [("--report", 2), ("--list", 0)])
def test_telling_creates_nothing(
    word: str, code: int, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is not there is an error of a report, and neither it nor its folder is made."""
    file = tmp_path / "folder" / "results.jsonl"
    assert compare.main(["--quick", word, "--results", str(file)], "") == code
    assert list(tmp_path.iterdir()) == []
    assert ("there is no file" in capsys.readouterr().err) == (code == 2)


def test_a_fresh_start_keeps_what_there_was(tmp_path: pathlib.Path) -> None:
    """Former results get another name, every time another one."""
    file = tmp_path / "results.jsonl"
    results.put_aside(file)
    for name in (KUBE, OURS, KUBE):
        runs.kept(file, runs.run(name, 0, 1.0))
        results.put_aside(file)
    assert results.Results(file).measurements == []
    aside = [results.read(file.with_name(f"results.jsonl.old{end}")) for end in ("", ".2", ".3")]
    assert [[one.scheduler for one in made] for made in aside] == [[KUBE], [OURS], [KUBE]]


def test_one_benchmark_writes_at_a_time(tmp_path: pathlib.Path) -> None:
    """The second one gets an error before it has measured anything; so does a fresh start."""
    file = tmp_path / "results.jsonl"
    with results.Results(file).opened():
        with (
            pytest.raises(results.ResultsError, match="another benchmark writes"),
            results.Results(file).opened(),
        ):
            pytest.fail("it was opened twice")
        with pytest.raises(results.ResultsError, match="another benchmark writes"):
            results.put_aside(file)
    runs.kept(file, runs.run(KUBE, 0, 1.0))


@pytest.mark.parametrize("path", ["/proc/nope/results.jsonl", "/dev/full", "."])
def test_a_place_that_cannot_be_written(path: str) -> None:
    """It is told before anything is measured."""
    with (
        pytest.raises(results.ResultsError, match="--results names another one"),
        results.Results(pathlib.Path(path)).opened(),
    ):
        pytest.fail("it was opened")


def test_a_full_disk(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written is an error, and is among the measurements all the same."""
    made = results.Results(tmp_path / "results.jsonl")
    monkeypatch.setattr(results, "_mend_end", _no_room)
    with (
        made.opened(),
        pytest.raises(results.ResultsError, match="cannot be written: No space left on device"),
    ):
        made.add(runs.run(KUBE, 0, 1.0))
    assert (len(made.measurements), made.added) == (1, 1)


def _no_room(*_: object) -> None:
    raise OSError(28, "No space left on device")


PLAIN = workload_files.load("plain")
NOW = origins.origin(PLAIN, OURS)


@pytest.mark.parametrize(
    "changed, told",
    [
        ({}, ""),
        ({"workload": "other"}, "of a workload whose file was another one"),
        ({"policysched": "other"}, "with another version of policysched"),
        ({"kube_scheduler": "v1.35.0"}, "with another version of kube-scheduler"),
        ({"policy": "other"}, "with another text of the policy"),
        ({"flags": ("--x",)}, "with other flags of policysched"),
    ],
    ids=["same", "workload", "policysched", "kube-scheduler", "policy", "flags"],
)
def test_runs_of_something_else_are_left_out(
    changed: Mapping[str, str], told: str, tmp_path: pathlib.Path
) -> None:
    """They are neither done nor in medians, but counted with the reason."""
    origin = msgspec.structs.replace(NOW, **changed)
    one = msgspec.structs.replace(runs.run(OURS, 0, 1.0), origin=origin)
    kept = results.Results(runs.kept(tmp_path / "r.jsonl", one), origins.judge())
    assert len(kept.keys()) == (0 if told else 1)
    assert dict(kept.left_out) == ({told: 1} if told else {})


def test_runs_of_other_machines_are_left_out(tmp_path: pathlib.Path) -> None:
    """Ratios of two machines are never in one median."""
    one = msgspec.structs.replace(runs.run(OURS, 0, 1.0), origin=NOW, machine="64 cores")
    kept = results.Results(runs.kept(tmp_path / "r.jsonl", one), origins.judge())
    assert not kept.keys()
    assert dict(kept.left_out) == {"on another machine, or with another Python": 1}


def test_the_report_says_what_it_leaves_out(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs of older benchmarks, and of workloads that have gone, are told; all can be shown."""
    gone = measurements.Case("gone", nodes=10, pods=100)
    odd = msgspec.structs.replace(runs.run(OURS, 0, 1.0, gone), origin=NOW)
    file = runs.kept(tmp_path / "r.jsonl", runs.run(KUBE, 0, 1.0), runs.run(OURS, 0, 1.0), odd)
    words = ["--report", "--results", str(file)]
    assert compare.main(words, "") == 0
    shown = capsys.readouterr().out
    assert "left out: 2 runs by a benchmark that did not say yet with what" in shown
    assert "left out: 1 run of a workload, policy or base that is not there any longer" in shown
    assert compare.main([*words, "--all-versions"], "") == 0
    shown = capsys.readouterr().out
    assert "policysched / kube-scheduler: pods/s 1.00" in shown
    assert "left out" not in shown


def test_a_run_counts_once(tmp_path: pathlib.Path) -> None:
    """Where lines were put together by hand, the first run of a repeat counts."""
    file = runs.kept(tmp_path / "r.jsonl", runs.run(OURS, 0, 1.0), runs.run(OURS, 0, 2.0))
    kept = results.Results(file)
    assert [one.bind_seconds for one in kept.measurements] == [1.0]
    assert dict(kept.left_out) == {"of runs that are there already": 1}


def test_broken_rules_fail(tmp_path: pathlib.Path) -> None:
    """A run that broke a rule makes the report end with 1."""
    quality = msgspec.structs.replace(runs.run(OURS, 0, 1.0).quality, broken_rules=1)
    one = msgspec.structs.replace(runs.run(OURS, 0, 1.0), quality=quality, origin=NOW)
    file = runs.kept(tmp_path / "r.jsonl", one)
    assert compare.main(["--report", "--results", str(file)], "") == 1


def test_an_edited_policysched_is_told(tmp_path: pathlib.Path) -> None:
    """Runs of two versions never get the same hash because files changed while one ran."""
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


def test_runs_of_another_base_are_left_out(tmp_path: pathlib.Path) -> None:
    """A run of the base is one of that version, whichever folder it is in."""
    base, other = (make_checkout(tmp_path / name) for name in ("base", "other"))
    options = schedulers.Options(base=base)
    made = origins.origin(PLAIN, schedulers.BASE, options)
    one = msgspec.structs.replace(runs.run(schedulers.BASE, 0, 1.0), origin=made)
    assert origins.judge(schedulers.Options(base=other))(one) == ""
    (other / "policysched" / "new.py").touch()
    assert "another version" in origins.judge(options)(
        msgspec.structs.replace(one, origin=origins.origin(PLAIN, OURS))
    )
    assert "not there" in origins.judge()(one)


def test_a_base_needs_an_environment(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without one is an error before anything runs."""
    assert compare.main(["--quick", "--base", str(tmp_path)], "") == 2
    assert "is no checkout with an environment; `make .venv/ready`" in capsys.readouterr().err


def test_workloads_are_told_apart_by_what_they_create() -> None:
    """Two workloads have two hashes; a policy and its text are part of what a run is made with."""
    assert origins.origin(workload_files.load("mixed"), OURS).workload != NOW.workload
    with_policy = origins.origin(PLAIN, schedulers.with_policy("rules-10"))
    assert msgspec.structs.replace(with_policy, policy="") == NOW
    assert with_policy.policy
