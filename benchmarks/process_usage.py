"""What a process has used so far, from /proc."""

from __future__ import annotations

import os
import pathlib

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a running process, user and system.

    Source: proc(5): fields 14 and 15 of /proc/PID/stat, counted after the command in parentheses.
    """
    text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def peak_memory_mib(pid: int) -> float:
    """Return the largest resident size of a running process so far (VmHWM)."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    [peak_kib] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peak_kib) / 1024


def machine_cpu_seconds() -> float:
    """Return the CPU time that all processes of the machine have used since it was started.

    Source: proc(5): the line `cpu` of /proc/stat has user, nice, system, idle, iowait, irq, softirq
    and further fields; time spent for guests is in user already, stolen time is nobody's here.
    """
    line = pathlib.Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0]
    user, nice, system, _idle, _iowait, irq, softirq = (int(word) for word in line.split()[1:8])
    return (user + nice + system + irq + softirq) / _TICKS_PER_SECOND
