"""What processes, and the machine, have used so far, from /proc."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import time
from collections.abc import Sequence
from typing import Self

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Usage:
    """CPU seconds so far, and when that was.

    Attributes:
        scheduler, servers: of the process that is measured, and of those that it talks to.
        own: of this process.
        machine: of all processes.
        stolen: see `stolen_cpu_seconds`.
        at_seconds: of the monotonic clock.
    """

    scheduler: float
    servers: float
    own: float
    machine: float
    stolen: float
    at_seconds: float

    @classmethod
    def now(cls, scheduler: int, servers: Sequence[int]) -> Self:
        """Return what processes, by their numbers, and the machine have used by now."""
        return cls(
            cpu_seconds(scheduler),
            sum(cpu_seconds(pid) for pid in servers),
            time.process_time(),
            machine_cpu_seconds(),
            stolen_cpu_seconds(),
            time.monotonic(),
        )

    def others_share(self, begin: Usage) -> float:
        """Return the share of the machine's CPU time since then that other processes took."""
        return max(0.0, self._share_of_machine(self._others - begin._others, begin))

    def stolen_share(self, begin: Usage) -> float:
        """Return the share of the machine's CPU time since then that was stolen."""
        return self._share_of_machine(self.stolen - begin.stolen, begin)

    @property
    def _others(self) -> float:
        return self.machine - self.scheduler - self.servers - self.own

    def _share_of_machine(self, seconds: float, begin: Usage) -> float:
        all_time = (self.at_seconds - begin.at_seconds) * (os.cpu_count() or 1)
        return seconds / all_time if all_time else 0.0


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
    steal and further fields; time spent for guests is in user already.
    """
    user, nice, system, _idle, _iowait, irq, softirq, _steal = _machine_ticks()
    return (user + nice + system + irq + softirq) / _TICKS_PER_SECOND


def stolen_cpu_seconds() -> float:
    """Return how long the machine's processors had work but ran other virtual machines instead.

    Source: proc(5): the field `steal`; 0 where the machine is not virtual or is not told.
    """
    return _machine_ticks()[-1] / _TICKS_PER_SECOND


def _machine_ticks() -> list[int]:
    """Return the first eight fields of the machine: user to steal."""
    line = pathlib.Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0]
    return [int(word) for word in line.split()[1:9]]
