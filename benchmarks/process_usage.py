"""What a process has used so far, from /proc."""

from __future__ import annotations

import dataclasses
import os
import pathlib

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Usage:
    """CPU time of all threads, user and system, and the largest resident size."""

    cpu_seconds: float
    peak_memory_mib: float


def of(pid: int) -> Usage:
    """Return the usage of a running process.

    Source: proc(5): fields 14 and 15 of /proc/PID/stat, counted after the command in parentheses,
    and VmHWM of /proc/PID/status.
    """
    folder = pathlib.Path(f"/proc/{pid}")
    fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    status = (folder / "status").read_text(encoding="utf-8")
    [peak_kib] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return Usage(ticks / _TICKS_PER_SECOND, int(peak_kib) / 1024)
