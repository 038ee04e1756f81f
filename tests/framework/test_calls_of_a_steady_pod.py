"""How much code one pod passes once equal pods went before it: files and calls of Python.

Whoever reads the path of a pod reads these files. The figures are limits that may only fall; the
goal is 28 files and 150 calls, and with ten rules 34 and 220.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

import policysched
from benchmarks.cycle import in_process

_PACKAGE = policysched.__path__[0]
_KERNELS = f"{_PACKAGE}/kernels/"
"""Compiled kernels are no calls of Python, so interpreted ones do not count either."""
_STEADY_AFTER = 40


def _list_files_called(setting: in_process.Setting) -> list[str]:
    """Return the file of each function called for one pod, from the queue to Permit."""
    run = in_process.Run(setting)
    files: list[str] = []

    def note(frame: types.FrameType, event: str, argument: Any) -> None:
        del argument
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(_PACKAGE) and not file.startswith(_KERNELS):
            files.append(file)

    for _ in range(_STEADY_AFTER):
        assert run.schedule_next()
    sys.setprofile(note)
    try:
        assert run.schedule_next()
    finally:
        sys.setprofile(None)
    return files


@pytest.mark.parametrize(
    "workload, policies, most_files, most_calls",
    [
        pytest.param("plain", (), 43, 151, id="no rules"),
        pytest.param("labelled", ("benchmarks/policies/rules-10.policy",), 47, 226, id="ten rules"),
    ],
)
def test_a_steady_pod_passes_few_files(
    workload: str, policies: tuple[str, ...], most_files: int, most_calls: int
) -> None:
    """One that costs more reads more, too."""
    setting = in_process.Setting(workload, nodes=100, pods=_STEADY_AFTER + 1, policies=policies)
    files = _list_files_called(setting)
    assert len(set(files)) <= most_files
    assert len(files) <= most_calls
