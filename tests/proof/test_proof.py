"""`make proof` runs what has not passed on this checkout, and says how each part ended."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from tests.proof import __main__ as proof
from tests.proof import parts, results

ONE = parts.Part("one", ("one",), "the first")
TWO = parts.Part("two", ("two",), "the second")


class Commands:
    """Ends each part with the exit code that a test wants."""

    def __init__(self, **exit_codes: int) -> None:
        self.exit_codes = exit_codes
        self.ran: list[str] = []

    def __call__(self, part: parts.Part, log: pathlib.Path) -> int:
        """Take down that the part ran."""
        assert log.name == f"{part.name}.log"
        self.ran.append(part.name)
        return self.exit_codes.get(part.name, 0)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    """A file of results that does not exist yet."""
    return tmp_path / "proof" / "results.json"


def test_a_part_that_passed_does_not_run_again(path: pathlib.Path) -> None:
    """A run goes on after the last part that passed; one that failed runs again."""
    commands = Commands(two=2)
    for _ in range(2):
        proof.run_parts((ONE, TWO), results.ResultFile(path), "v1", commands)
    assert commands.ran == ["one", "two", "two"]


def test_another_version_runs_everything(path: pathlib.Path) -> None:
    """What passed on one checkout says nothing about another."""
    commands = Commands()
    for version in ("v1", "v2"):
        proof.run_parts((ONE,), results.ResultFile(path), version, commands)
    assert commands.ran == ["one", "one"]


def test_what_is_forgotten_runs_again(path: pathlib.Path) -> None:
    """`--fresh` forgets the chosen parts and no others."""
    kept = results.ResultFile(path)
    proof.run_parts((ONE, TWO), kept, "v1", Commands())
    kept.forget(["one"])
    commands = Commands()
    proof.run_parts((ONE, TWO), kept, "v1", commands)
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


def test_a_change_makes_another_version(tmp_path: pathlib.Path) -> None:
    """Changes that are not committed count, and so does the commit."""

    def git(*words: str) -> None:
        name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(("git", *name, *words), cwd=tmp_path, check=True, capture_output=True)

    file = tmp_path / "file"
    file.write_text("1")
    git("init", "--quiet")
    git("add", "file")
    git("commit", "--quiet", "--message", "one")
    versions = [results.read_version(tmp_path)]
    file.write_text("2")
    versions.append(results.read_version(tmp_path))
    git("commit", "--quiet", "--all", "--message", "two")
    versions.append(results.read_version(tmp_path))
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize("part", parts.PARTS, ids=lambda part: part.name)
def test_make_knows_the_goals_of_each_part(part: parts.Part) -> None:
    """`make -n` finds a rule for each."""
    words = ("make", "--dry-run", *part.goals)
    done = subprocess.run(words, cwd=proof.ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_an_unknown_part_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong name ends with the names that there are."""
    with pytest.raises(SystemExit):
        proof.main(["nothing"])
    assert "no part is called `nothing`; the parts are tests," in capsys.readouterr().err
