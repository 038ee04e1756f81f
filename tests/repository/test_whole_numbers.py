"""A wrong number or duration ends the commands for tests with one error, and nothing has passed."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

import pytest

from tests import whole_numbers

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKE = ("make", "--no-print-directory", "--old-file=components", "--old-file=.venv/ready")


def test_a_whole_number_is_read() -> None:
    """The least one is allowed."""
    assert whole_numbers.at_least(6)("6") == 6


@pytest.mark.parametrize("text", ["5", "-6", "6.5", "x", ""])
def test_another_text_is_named(text: str) -> None:
    """The error has the least number."""
    with pytest.raises(
        argparse.ArgumentTypeError, match=f"`{text}` is not a whole number from 6 on"
    ):
        whole_numbers.at_least(6)(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "goal, variable, error",
    [
        ("cluster", "NODES=-1", "--nodes: `-1` is not a whole number from 0 on"),
        ("conformance", "CASES=0", "--cases: `0` is not a whole number from 1 on"),
        ("conformance", "SEED=abc", "--seed: `abc` is not a whole number from 0 on"),
        ("fresh", "SEED=abc", "CONFORMANCE_SEED: `abc` is not a whole number from 0 on"),
        ("fresh", "SEEDS=0", "CONFORMANCE_SEEDS: `0` is not a whole number from 1 on"),
        ("fuzz", "ROUNDS=x", "--rounds: `x` is not a whole number from 1 on"),
        ("fuzz", "ROUNDS=", "--rounds: expected one argument"),
        ("fuzz-commands", "INPUTS=0", "--inputs: `0` is not a whole number from 1 on"),
        ("fuzz-commands", "PROCESSES=x", "--processes: `x` is not a whole number from 0 on"),
        ("chaos", "ROUNDS=0", "--rounds: `0` is not a whole number from 1 on"),
        ("chaos", "LEASE=3s 2s", "--lease: expected 3 arguments"),
        ("chaos", "LEASE=3s x 1s", "--lease: `renewDeadline` must be a duration above 0"),
        ("chaos", "LEASE=2s 3s 1s", "--lease: `leaseDuration` must be greater than"),
        ("soak", "MINUTES=5", "--minutes: `5` is not a whole number from 6 on"),
    ],
)
def test_make_ends_with_one_error(goal: str, variable: str, error: str) -> None:
    """The commands read their numbers before they begin."""
    done = _run((*MAKE, goal, variable))
    assert done.returncode == 2
    assert error in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, option",
    [("policy_edits", "--edits"), ("outages", "--rounds")],
    ids=["EDITS", "TROUBLES"],
)
def test_a_later_command_of_make_chaos_ends_with_one_error(module: str, option: str) -> None:
    """`make chaos` has three commands."""
    done = _run((sys.executable, "-m", f"tests.chaos.{module}", option, "0"))
    assert done.returncode == 2
    assert done.stderr.endswith(f"{option}: `0` is not a whole number from 1 on\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, value, least",
    [
        ("CONFORMANCE_SEED", "-1", 0),
        ("CONFORMANCE_SEEDS", "0", 1),
        ("CONFORMANCE_CASES", "many", 1),
        ("KARMADA_CASES", "7", 8),
    ],
)
def test_pytest_ends_with_one_error(name: str, value: str, least: int) -> None:
    """It reads the variables of the environment before it collects tests."""
    words = (
        sys.executable,
        "-m",
        "pytest",
        "--numprocesses=1",
        "tests/repository/test_whole_numbers.py",
    )
    done = _run(words, {name: value})
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    error = f"ERROR: variable {name}: `{value}` is not a whole number from {least} on"
    assert (done.stdout.strip(), done.stderr.strip()) == ("", error)


def _run(
    words: tuple[str, ...], variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **(variables or {})}
    return subprocess.run(
        words, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
