"""A description of the machine and the Python that run a benchmark."""

from __future__ import annotations

import functools
import os
import pathlib
import platform

_MODEL = "model name"


@functools.cache
def describe() -> str:
    """Return the number of cores, the processor, the version of Python and its compiler."""
    cores, model = os.cpu_count(), _read_model()
    python = f"Python {platform.python_version()} ({platform.python_compiler()})"
    return f"{cores} cores{f' of {model}' if model else ''}, {python}"


def _read_model() -> str:
    """Return the name of the processor; "" if Linux does not report it (proc(5): cpuinfo)."""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == _MODEL:
            return value.strip()
    return ""
