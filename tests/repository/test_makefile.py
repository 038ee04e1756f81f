"""The Makefile uses the Python that it is given, and leaves kernels compiled as usual."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with the Makefile, an environment of Python 3.11.7 and another Python."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "dev.txt").touch()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "build_kernels.py").touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for path, version in ((".venv/bin/python", "3.11.7"), ("same", "3.11.7"), ("other", "3.12.1")):
        (tmp_path / path).write_text(f"#!/bin/sh\necho Python {version}\n")
        (tmp_path / path).chmod(0o755)
    (tmp_path / ".venv" / "installed").touch()
    (tmp_path / ".venv" / "ready").touch()
    return tmp_path


def run_make(
    folder: pathlib.Path, *words: str, goal: str = ".venv/ready"
) -> subprocess.CompletedProcess[str]:
    """Ask for a goal: by default, the environment."""
    return subprocess.run(
        ("make", *words, goal),
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        check=False,
        capture_output=True,
        text=True,
    )


def test_another_python_than_that_of_the_environment_is_an_error(folder: pathlib.Path) -> None:
    """The environment stays, and the error says what to do."""
    done = run_make(folder, "PYTHON=./other")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        "the Python of .venv is not `./other`, but Python 3.11.7; "
        "run `make clean` first, or leave out PYTHON"
    )


@pytest.mark.parametrize("words", [("PYTHON=./same",), ()], ids=["the same", "none"])
def test_the_environment_keeps_its_python(folder: pathlib.Path, words: tuple[str, ...]) -> None:
    """Without PYTHON, the environment is used, whichever version `python3` has."""
    done = run_make(folder, *words)
    assert (done.returncode, done.stderr) == (0, "")


def test_kernels_are_compiled_as_usual_after_a_failed_test(folder: pathlib.Path) -> None:
    """`make kernels` compiles them in other ways; no later command would do it again."""
    log = folder / "log"
    (folder / ".venv/bin/python").write_text(
        f'#!/bin/sh\necho "kind=$POLICYSCHED_KERNELS $*" >> {log}\n'
    )
    (folder / ".venv/bin/pytest").write_text("#!/bin/sh\nexit 1\n")
    (folder / ".venv/bin/pytest").chmod(0o755)
    done = run_make(folder, goal="kernels")
    assert done.returncode == 2
    compilations = [line for line in log.read_text().splitlines() if "build_kernels" in line]
    assert compilations == ["kind=checked build_kernels.py", "kind= build_kernels.py"]


@pytest.mark.parametrize("failing", ["mypy", "pytest"])
def test_a_failure_of_a_check_or_a_test_hides_no_other(folder: pathlib.Path, failing: str) -> None:
    """`make test` runs both to the end, and names the one that failed."""
    for name in ("codespell", "lint-imports", "mypy", "pytest", "ruff"):
        code = int(name == failing)
        (folder / ".venv/bin" / name).write_text(f"#!/bin/sh\necho {name} ends\nexit {code}\n")
        (folder / ".venv/bin" / name).chmod(0o755)
    done = run_make(folder, goal="test")
    assert done.returncode == 2
    assert {"mypy ends", "pytest ends"} <= set(done.stdout.splitlines())
    goal = {"mypy": "check-types", "pytest": "run-tests"}[failing]
    assert re.search(rf"\*\*\* \[.*{goal}\] Error 1", done.stderr)
