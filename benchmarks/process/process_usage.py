"""CPU time and memory that processes and the machine have used so far, from /proc."""

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
    """CPU seconds that were used until a moment.

    Attributes:
        scheduler, servers: by the process under test, and by its servers.
        own: by this process.
        machine: by all processes.
        stolen: see `stolen_cpu_seconds`.
        at_seconds: the moment, on the monotonic clock.
    """

    scheduler: float
    servers: float
    own: float
    machine: float
    stolen: float
    at_seconds: float

    @classmethod
    def now(cls, scheduler: int, servers: Sequence[int]) -> Self:
        """Return the usage until now of the machine and of processes, given by PID."""
        return cls(
            cpu_seconds(scheduler),
            sum(cpu_seconds(pid) for pid in servers),
            time.process_time(),
            machine_cpu_seconds(),
            stolen_cpu_seconds(),
            time.monotonic(),
        )

    def others_share(self, begin: Usage) -> float:
        """Return the share of the machine's CPU time since `begin` that other processes used."""
        return max(0.0, self._compute_share(self._others - begin._others, begin))

    def stolen_share(self, begin: Usage) -> float:
        """Return the share of the machine's CPU time since `begin` that was stolen."""
        return self._compute_share(self.stolen - begin.stolen, begin)

    @property
    def _others(self) -> float:
        return self.machine - self.scheduler - self.servers - self.own

    def _compute_share(self, seconds: float, begin: Usage) -> float:
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
    """Return the CPU time that all processes of the machine have used since boot.

    Source: proc(5): the line `cpu` of /proc/stat has user, nice, system, idle, iowait, irq,
    softirq, steal and further fields; user already includes the time of guests.
    """
    user, nice, system, _idle, _iowait, irq, softirq, _steal = _read_machine_ticks()
    return (user + nice + system + irq + softirq) / _TICKS_PER_SECOND


def stolen_cpu_seconds() -> float:
    """Return how long processors had work for this machine but ran other virtual machines.

    Source: proc(5): the field `steal`; 0 if the machine is not virtual, or its hypervisor does not
    report it.
    """
    return _read_machine_ticks()[-1] / _TICKS_PER_SECOND


def _read_machine_ticks() -> list[int]:
    """Return the first eight numbers of the line `cpu`: user to steal."""
    line = pathlib.Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0]
    return [int(word) for word in line.split()[1:9]]
