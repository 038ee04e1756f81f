"""The command: which sets run, and what is repeated."""

from __future__ import annotations

import json
import pathlib
import re
import threading
from collections.abc import Sequence

import pytest

from tests.kubernetes_e2e import __main__ as command
from tests.kubernetes_e2e import e2e_sets, reports, runs
from tests.kubernetes_e2e.outcomes import make_outcomes
from tests.realcluster import components


class Cluster:
    """Stands for clusters and e2e.test: a test called `b` fails with policysched.

    Attributes:
        asked: what ran, as the folder and the tests.
        failures: how often `b` fails.
    """

    def __init__(self, failures: int) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.failures = failures

    def __call__(
        self,
        e2e_set: e2e_sets.E2eSet,
        scheduler: str,
        folder: pathlib.Path,
        *,
        node_count: int,
        stopping: threading.Event,
        tests: Sequence[str] = (),
    ) -> runs.Run:
        """Take down what was asked for."""
        assert node_count == 5
        self.asked.append((f"{folder.parent.name}/{folder.name}", tuple(tests)))
        status = "passed"
        if scheduler == "policysched" and self.failures > 0:
            self.failures -= 1
            status = "failed"
        others = {f"test{number}": "passed" for number in range(100)}
        return runs.Run(make_outcomes(b=status, **({} if tests else others)), 60.0)


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The folder of the results; nothing is built."""
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    monkeypatch.setattr(components, "binary", pathlib.Path)
    return tmp_path


def test_every_set_but_the_missing_ones_runs_with_both(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The missing ones are in the table."""
    runner = Cluster(failures=0)
    monkeypatch.setattr(runs, "run", runner)
    assert command.main([]) == 0
    assert {name for name, _ in runner.asked} == {
        f"{name}/{scheduler}"
        for name in (
            "scheduling",
            "daemonsets",
            "taints",
            "runtimeclasses",
            "volumes",
            "apps",
            "resize",
            "devices",
        )
        for scheduler in ("kube-scheduler", "policysched")
    }
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split()[:2] == ["groups", "missing"]


@pytest.mark.parametrize(
    "failures, exit_code, verdict",
    [
        pytest.param(1, 0, "failed once, passes when repeated", id="once"),
        pytest.param(2, 1, "fails with policysched", id="again"),
    ],
)
def test_what_fails_with_policysched_alone_is_repeated_with_both(
    folder: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    failures: int,
    exit_code: int,
    verdict: str,
) -> None:
    """The repetitions run this test alone, each on a cluster of its own."""
    runner = Cluster(failures)
    monkeypatch.setattr(runs, "run", runner)
    assert command.main(["--sets", "taints", "--repeats", "2"]) == exit_code
    assert sorted(runner.asked) == [
        ("taints/kube-scheduler", ()),
        ("taints/kube-scheduler-repeat-1", ("b",)),
        ("taints/kube-scheduler-repeat-2", ("b",)),
        ("taints/policysched", ()),
        ("taints/policysched-repeat-1", ("b",)),
        ("taints/policysched-repeat-2", ("b",)),
    ]
    (kept,) = json.loads((folder / "results.json").read_text())
    assert kept["differences"] == [{"test": "b", "message": "b is wrong", "verdict": verdict}]


def test_an_error_ends_what_runs_beside(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with 2 at once; what waits for its turn does not get it."""
    begun: list[str] = []

    def run(
        e2e_set: e2e_sets.E2eSet,
        scheduler: str,
        *_: object,
        stopping: threading.Event,
        **__: object,
    ) -> runs.Run:
        begun.append(e2e_set.name)
        assert scheduler == "policysched" or stopping.wait(60.0)
        raise reports.ReportError(f"{scheduler} ran no test")

    monkeypatch.setattr(runs, "run", run)
    assert command.main(["--sets", "taints,apps,volumes", "--clusters", "2"]) == 2
    assert capsys.readouterr().err == "policysched ran no test\n"
    assert "volumes" not in begun


@pytest.mark.parametrize("flag", ["--sets", "--schedulers"])
def test_an_unknown_name_ends_with_the_known_ones(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error must not run nothing, and pass."""
    with pytest.raises(SystemExit):
        command.main([flag, "nothing"])
    assert "`nothing` is none of" in capsys.readouterr().err


def test_the_sets_are_well_formed() -> None:
    """Names are distinct, and the expressions are such as Go and Python read alike."""
    assert len({one.name for one in e2e_sets.SETS}) == len(e2e_sets.SETS)
    for one in e2e_sets.SETS:
        re.compile(one.focus)
        re.compile(one.skip)
        assert one.least_passed > 0
