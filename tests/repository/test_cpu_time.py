"""The report of long tests names those that have no mark."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

TESTS = """
import time
import pytest

def spend_cpu():
    start_seconds = time.process_time()
    while time.process_time() - start_seconds < 2.1:
        pass

def test_long():
    spend_cpu()

@pytest.mark.slow
def test_long_and_marked():
    spend_cpu()

def test_short():
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "processes",
    [
        pytest.param(0, id="alone", marks=pytest.mark.proof),
        pytest.param(2, id="shared by workers"),
    ],
)
def test_only_long_tests_without_a_mark_are_named(tmp_path: pathlib.Path, processes: int) -> None:
    """A test of over two seconds of CPU is named, one that is marked or short is not.

    A folder with the name of a mark marks nothing.
    """
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "test_times.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: long\n")
    words = ("-m", "pytest", "-p", "tests.cpu_time", "-n", str(processes), tmp_path)
    done = subprocess.run(
        (sys.executable, *words),
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert "3 passed" in done.stdout
    _, _, report = done.stdout.partition("over 2 s of CPU and not marked `slow`")
    assert [line.split()[-1] for line in report.splitlines() if "::" in line] == [
        "slow/test_times.py::test_long"
    ]
