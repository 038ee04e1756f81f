"""`make proof` runs what has not passed on this checkout, and says how each part ended."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from tests.proof import __main__ as proof
from tests.proof import goals, parts, results
from tests.realcluster import process

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONE = parts.Part("one", ("one",), "the first")
TWO = parts.Part("two", ("two",), "the second")

MAKEFILE = f"""\
env:
\t@env
soak:
\t@echo ran
fuzz:
\t@touch new
chaos:
\t@{sys.executable} wait.py || exit 1
"""

WAITING = """\
import pathlib, threading
try:
    print("waiting", flush=True)
    threading.Event().wait()
finally:
    threading.Event().wait(1)  # longer than a run that does not wait for it
    pathlib.Path("ended").touch()
"""


class Commands:
    """Ends each part with the exit code that a test wants."""

    def __init__(self, **exit_codes: int) -> None:
        self.exit_codes = exit_codes
        self.ran: list[str] = []

    def __call__(self, part: parts.Part) -> int:
        """Take down that the part ran."""
        self.ran.append(part.name)
        return self.exit_codes.get(part.name, 0)


def read_v1() -> str:
    """Return the same version every time."""
    return "v1"


def run_git(folder: pathlib.Path, *words: str) -> None:
    """Run git as some author."""
    name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(("git", *name, *words), cwd=folder, check=True, capture_output=True)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    """A file of results that does not exist yet."""
    return tmp_path / "proof" / "results.json"


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """A checkout without a commit, whose Makefile has goals of real parts."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "wait.py").write_text(WAITING)
    (folder / ".gitignore").write_text(".proof/\n")
    run_git(folder, "init", "--quiet")
    return folder


def test_a_part_that_passed_does_not_run_again(path: pathlib.Path) -> None:
    """A run goes on after the last part that passed; one that failed runs again."""
    commands = Commands(two=2)
    for _ in range(2):
        proof.run_parts((ONE, TWO), results.ResultFile(path), read_v1, commands)
    assert commands.ran == ["one", "two", "two"]


def test_another_version_runs_everything(path: pathlib.Path) -> None:
    """What passed on one checkout says nothing about another."""
    commands = Commands()
    proof.run_parts((ONE,), results.ResultFile(path), read_v1, commands)
    proof.run_parts((ONE,), results.ResultFile(path), lambda: "v2", commands)
    assert commands.ran == ["one", "one"]


def test_what_is_forgotten_runs_again(path: pathlib.Path) -> None:
    """`--fresh` forgets the chosen parts and no others, even if its run is interrupted."""
    kept = results.ResultFile(path)
    proof.run_parts((ONE, TWO), kept, read_v1, Commands())
    kept.forget(["one"])
    commands = Commands()
    proof.run_parts((ONE, TWO), results.ResultFile(path), read_v1, commands)
    assert commands.ran == ["one"]


def test_the_table_has_every_chosen_part(path: pathlib.Path) -> None:
    """It says what passed, what failed with which exit code, and what has not run."""
    kept = results.ResultFile(path)
    kept.add("one", results.Result("v1", 0, 90.0))
    kept.add("two", results.Result("v1", 2, 30.0))
    assert list(proof.format_table((ONE, TWO), kept, "v1")) == [
        "part            result      minutes  what a pass says",
        "one             passed          1.5  the first",
        "two             failed (2)      0.5  the second",
    ]
    assert list(proof.format_table((ONE,), kept, "v2"))[1].split()[:3] == ["one", "not", "run"]


def test_a_change_makes_another_version(checkout: pathlib.Path) -> None:
    """New files and changes count before they are committed; a commit of them changes nothing."""
    versions = [results.read_version(checkout)]
    (checkout / "file").write_text("1")
    versions.append(results.read_version(checkout))
    run_git(checkout, "add", "--all")
    run_git(checkout, "commit", "--quiet", "--message", "one")
    assert results.read_version(checkout) == versions[-1]
    (checkout / "file").write_text("2")
    versions.append(results.read_version(checkout))
    assert len(set(versions)) == len(versions)


def test_an_ignored_file_makes_no_other_version(checkout: pathlib.Path) -> None:
    """The results themselves do not count."""
    version = results.read_version(checkout)
    (checkout / ".proof").mkdir()
    (checkout / ".proof" / "results.json").write_text("{}")
    assert results.read_version(checkout) == version


def test_a_part_passes_in_a_checkout(
    checkout: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its output is in a file of its own, and the next run has nothing to do."""
    for _ in range(2):
        assert proof.main(["--checkout", str(checkout), "soak"]) == 0
    output = capsys.readouterr().out
    assert output.count("soak: make soak MINUTES=30 > .proof/soak.log\n") == 1
    assert output.count("soak            passed") == 2
    assert (checkout / ".proof" / "soak.log").read_text() == "ran\n"


def test_a_part_during_which_files_change_has_not_passed(
    checkout: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its result belongs neither to the version before the change nor to the one after it."""
    assert proof.main(["--checkout", str(checkout), "fuzz"]) == 1
    assert "fuzz: files changed while it ran, so its result does not count" in (
        capsys.readouterr().out
    )
    (checkout / "new").unlink()
    assert proof.main(["--checkout", str(checkout), "fuzz"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_an_interruption_ends_the_part_and_keeps_results(
    number: signal.Signals, checkout: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The part ends what it started before the run ends, though a shell of make ends at once."""
    (checkout / ".gitignore").write_text(".proof/\nended\n")
    running = process.ServerProcess(
        [sys.executable, "-m", "tests.proof", "--checkout", str(checkout), "chaos", "soak"],
        log=tmp_path / "log",
        environment={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert proof.main(["--checkout", str(checkout), "soak"]) == 0
    log = checkout / ".proof" / "chaos.log"
    running.start()
    try:
        running.wait_until(lambda: log.exists() and log.read_text() != "", time_limit_seconds=60)
        running.signal(number)
        assert running.wait(60) == 130
    finally:
        running.kill()
    assert (checkout / "ended").exists()
    verdicts = [line.split()[:2] for line in running.log.read_text().splitlines()[-2:]]
    assert verdicts == [["chaos", "not"], ["soak", "passed"]]
    assert "Traceback" not in running.log.read_text()


def test_a_part_does_not_see_settings_of_its_caller(
    checkout: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that change its numbers, make itself or the tests are dropped; the PATH stays."""
    dropped = {
        "INPUTS": "1",
        "SEED": "7",
        "FAMILIES": "spread",
        "MAKEFLAGS": "i -- MINUTES=1",
        "MAKEFILES": "other.mk",
        "CONFORMANCE_SEEDS": "0",
        "KARMADA_CASES": "0",
        "PYTEST_ADDOPTS": "--collect-only",
        "PYTHONOPTIMIZE": "1",
    }
    kept = {"HTTPS_PROXY": "proxy.example", "POLICYSCHED_CACHE": "/cache", "LC_ALL": "C.UTF-8"}
    for name, value in {**dropped, **kept}.items():
        monkeypatch.setenv(name, value)
    log = checkout / "log"
    assert goals.run_part(parts.Part("one", ("env",), "the first"), checkout, log) == 0
    seen = dict(line.split("=", 1) for line in log.read_text().splitlines())
    assert {name: seen.get(name) for name in kept} == kept
    assert seen["PATH"] == os.environ["PATH"]
    assert "MINUTES" not in seen.pop("MAKEFLAGS")
    assert not seen.keys() & dropped.keys()


def test_two_runs_do_not_write_the_same_results(
    checkout: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second one ends at once."""
    with results.hold_lock(checkout / ".proof" / "lock"):
        assert proof.main(["--checkout", str(checkout), "soak"]) == 2
    assert capsys.readouterr().err == (
        "make proof: another `make proof` runs in this checkout; wait for its end, or end it\n"
    )
    assert proof.main(["--checkout", str(checkout), "soak"]) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "\xff",
        '{"soak": 0}',
        '{"soak": {"version": "v1"}}',
        '{"soak": {"version": "v1", "exit_code": 1e999, "duration_seconds": 1}}',
        '{"soak": {"version": "v1", "exit_code": 0, "duration_seconds": "long"}}',
    ],
)
def test_a_damaged_file_of_results_is_named(
    text: str, checkout: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing runs, and the error says what to do."""
    path = checkout / ".proof" / "results.json"
    path.parent.mkdir()
    path.write_text(text, "latin-1")
    assert proof.main(["--checkout", str(checkout), "soak"]) == 2
    output = capsys.readouterr()
    assert output.err == (
        f"make proof: `{path}` is damaged; delete it, and every part runs again\n"
    )
    assert output.out == ""


def test_a_folder_without_git_is_one_error(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What git says is part of it."""
    assert proof.main(["--checkout", str(tmp_path), "soak"]) == 2
    assert f"make proof: git cannot read `{tmp_path}`, to" in (error := capsys.readouterr().err)
    assert "fatal: not a git repository" in error


def test_a_machine_without_git_is_one_error(
    checkout: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named."""
    monkeypatch.setenv("PATH", str(checkout))
    assert proof.main(["--checkout", str(checkout), "soak"]) == 2
    assert capsys.readouterr().err.startswith("make proof: git is missing")


@pytest.mark.parametrize("part", parts.PARTS, ids=lambda part: part.name)
def test_make_knows_the_goals_of_each_part(part: parts.Part) -> None:
    """`make -n` finds a rule for each."""
    words = ("make", "--dry-run", *part.goals)
    done = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("part", parts.PARTS, ids=lambda part: part.name)
def test_each_part_states_its_numbers(part: parts.Part) -> None:
    """None of them comes from a default of the Makefile, which is for people."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    goal, *numbers = part.goals
    [recipe] = re.findall(rf"^{goal}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    defaults = re.findall(r"^(\w+) \?= \d+$", makefile, re.MULTILINE)
    used = {name for name in defaults if f"$({name})" in recipe}
    assert used <= {number.partition("=")[0] for number in numbers}


def test_an_unknown_part_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong name ends with the names that there are."""
    with pytest.raises(SystemExit):
        proof.main(["nothing"])
    assert "no part is called `nothing`; the parts are tests," in capsys.readouterr().err
