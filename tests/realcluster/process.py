"""A server process of our own: started with a log file, watched, ended by its own process id."""

from __future__ import annotations

import collections
import os
import pathlib
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Self

from tests.realcluster import warm_start

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Mapping, Sequence

_POLL_SECONDS = 0.05
_REST_SHARE = 2.0
"""Pause after a condition, in durations of the condition: servers need the processors, too."""
_LOG_TAIL_LINES = 20
_FIRST_PORT, _LAST_PORT, _PORTS_AT_ONCE = 20_000, 32_000, 200
_ports: collections.deque[int] = collections.deque()
_claimed: collections.deque[int] = collections.deque()


class ProcessError(Exception):
    """A server did not start, or ended too early; the text has the end of its log."""


class ServerProcess:
    """A server that writes to a log file and is ended with SIGKILL.

    SIGKILL, because an API server whose etcd has gone waits for a long time when asked nicely, and
    because nothing that these servers hold outlives a test. It can be started again: same command,
    same ports, same log.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: pathlib.Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command = list(command)
        self.log = log
        self._environment = dict(environment) if environment is not None else None
        self._process: subprocess.Popen[bytes] | warm_start.ForkedProcess | None = None

    @property
    def name(self) -> str:
        """The program's name."""
        return pathlib.Path(self.command[0]).name

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None:
            raise ProcessError(f"{self.name} is not started")
        return self._process.pid

    def start(self) -> None:
        """Start the server in a session of its own, so that Ctrl-C at the terminal passes it by."""
        with self.log.open("ab") as log:
            self._process = warm_start.start(
                self.command, log.fileno(), log.fileno(), environment=self._environment
            )

    def wait_until(self, ready: Callable[[], bool], *, time_limit_seconds: float) -> None:
        """Return once `ready()` holds.

        Raises:
            ProcessError: the server ended, or was not ready in time.
        """
        deadline = time.monotonic() + time_limit_seconds
        asked_at = time.monotonic()
        while not ready():
            answered_at = time.monotonic()
            if not self.is_running():
                raise ProcessError(f"{self.name} ended while starting:\n{self.log_tail()}")
            if answered_at > deadline:
                raise ProcessError(
                    f"{self.name} was not ready within {time_limit_seconds} s:\n{self.log_tail()}"
                )
            time.sleep(max(_POLL_SECONDS, _REST_SHARE * (answered_at - asked_at)))
            asked_at = time.monotonic()

    def is_running(self) -> bool:
        """Return whether the server was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; the server has stopped when this returns after SIGSTOP.

        The kernel gives SIGSTOP to one thread, which stops the others once it runs. On a busy
        machine they go on until then, and can answer a question that was asked after the signal.
        """
        if self._process is None or not self.is_running():
            return
        self._process.send_signal(number)
        if number is signal.SIGSTOP:
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def wait(self, time_limit_seconds: float) -> int:
        """Wait for the end of a server that was asked to end, and return its exit code.

        Raises:
            ProcessError: it was not started, or has not ended in time.
        """
        if self._process is None:
            raise ProcessError(f"{self.name} is not started")
        try:
            return self._process.wait(time_limit_seconds)
        except subprocess.TimeoutExpired as error:
            text = f"{self.name} did not end within {time_limit_seconds} s:\n{self.log_tail()}"
            raise ProcessError(text) from error

    def kill(self) -> None:
        """End the server now and wait for its end; nothing happens where it has ended before."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def log_tail(self) -> str:
        """Return the last lines of the log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LOG_TAIL_LINES:])


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that nothing listens on and no other test gets.

    It is below 32768, where the ports of outgoing connections begin (ip_local_port_range). One of
    those can be taken before its server listens, and a connection to it can reach itself.
    """
    while True:
        port = _next_port()
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue  # another program listens there, or connections have just ended
            return port


def _next_port() -> int:
    if not _ports:
        start = _claim_ports()
        _ports.extend(range(start, start + _PORTS_AT_ONCE))
    return _ports.popleft()


def _claim_ports() -> int:
    """Return the first of some ports that belong to this process from now on.

    The claim is an abstract socket: the kernel gives it to one process, and frees it when that
    process ends. If all ports are claimed, this process begins again with its own.
    """
    for start in range(_FIRST_PORT, _LAST_PORT, _PORTS_AT_ONCE):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0policysched-tests-{start}")
        except OSError:
            claim.close()
        else:
            claim.detach()  # open until the process ends
            _claimed.append(start)
            return start
    if not _claimed:
        raise ProcessError(f"other processes have claimed the ports from {_FIRST_PORT} on")
    _claimed.rotate(-1)
    return _claimed[-1]


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot, or None if it is gone.

    Together with the process id it names a process for good: ids are used again, starts are not.
    Source: proc(5), field 22 of /proc/PID/stat, counted after the command in parentheses.
    """
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


def kill_exactly(pid: int, ticks: int) -> bool:
    """Kill the process that has this id and started then, and wait for its end.

    Returns:
        Whether there was one.
    """
    if start_ticks(pid) != ticks:
        return False
    os.kill(pid, signal.SIGKILL)
    while start_ticks(pid) == ticks:
        time.sleep(_POLL_SECONDS)
    return True


class Managed:
    """Something that runs one server process, from entering to leaving a `with`.

    Attributes:
        process: set by whoever inherits from this.
    """

    process: ServerProcess

    def __enter__(self) -> Self:
        """Start it."""
        self.process.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        """Kill it."""
        self.process.kill()
