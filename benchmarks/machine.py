"""What machine this is, as far as it sets how fast programs are."""

from __future__ import annotations

import functools
import os
import pathlib
import platform

_MODEL = "model name"


@functools.cache
def told() -> str:
    """Return how many cores of which processor, and which Python, built by which compiler."""
    cores, model = os.cpu_count(), _model()
    python = f"Python {platform.python_version()} ({platform.python_compiler()})"
    return f"{cores} cores{f' of {model}' if model else ''}, {python}"


def _model() -> str:
    """Return the name of the processor; "" where Linux does not say it (proc(5): cpuinfo)."""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == _MODEL:
            return value.strip()
    return ""
