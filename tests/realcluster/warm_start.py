"""Starts `python -m policysched` as a fork of a process that has imported it.

Imports and the table of the parser take most of the start of a server: over a second of CPU time,
and tests start hundreds of servers. Each pytest process starts one template, which imports the
modules, reads the shipped policies and does nothing else. It forks on request. The fork becomes a
child of the pytest process, has descriptors, folder, arguments and session of its own, and runs the
entry point of the program.

A fork has the environment of its template. If a variable has changed since then, a process is
started as usual; so are other programs, and all processes outside of pytest, such as benchmarks of
starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

import policysched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROGRAM: Final = (sys.executable, "-m", "policysched")
_MODULES: Final = (
    "policysched.__main__",
    "policysched.app.scheduler_process",
    "policysched.cli.commands.run",
    "policysched.cli.commands.ui",
    "policysched.cli.demo.page_demo",
    "policysched.compiler.compiler",
    "policysched.lang.checking.checker",
    "policysched.lang.parsing.parser",
    "policysched.page.page_server",
)
_ROOT: Final = pathlib.Path(__file__).resolve().parents[2]
_FILE: Final = str(pathlib.Path(policysched.__file__).with_name("__main__.py"))
_TEST_VARIABLE: Final = "PYTEST_CURRENT_TEST"  # pytest changes it for each test
_PR_SET_CHILD_SUBREAPER: Final = 36  # prctl(2)
_POLL_SECONDS: Final = 0.02
_REQUEST_BYTES: Final = 1 << 17

is_enabled = False
"""Set by pytest."""


class ForkedProcess:
    """A process started by the template, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the process runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code.

        Raises:
            subprocess.TimeoutExpired: it has not ended in time.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and timeout is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(PROGRAM, timeout)
            time.sleep(_POLL_SECONDS)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process now."""
        self.send_signal(signal.SIGKILL)


class _Template:
    """The process that has imported the program, and the environment in which it did."""

    def __init__(self) -> None:
        self.environment = _read_environment()
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=_ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def fork(self, words: Sequence[str], folder: str, stdout: int, stderr: int) -> ForkedProcess:
        """Start the program with the arguments `words`."""
        with _adopting_orphans():
            request = json.dumps([words, folder]).encode()
            socket.send_fds(self._requests, [request], [stdout, stderr])
            return ForkedProcess(int(self._requests.recv(_REQUEST_BYTES)))

    def stop(self) -> None:
        """End the template; its forks continue."""
        self._requests.close()
        self._process.wait()


def start(
    command: Sequence[str],
    stdout: int,
    stderr: int,
    *,
    folder: pathlib.Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> ForkedProcess | subprocess.Popen[bytes]:
    """Start a command in a session of its own, so that Ctrl-C at the terminal does not reach it.

    The program is started as a fork if its environment is that of the template.

    Args:
        command: the program and its arguments.
        stdout: a descriptor.
        stderr: another one, or the same; standard input is empty.
        folder: its working directory, if not that of this process.
        environment: all its variables, if not those of this process.
    """
    is_program = is_enabled and tuple(command[: len(PROGRAM)]) == PROGRAM
    if is_program and environment is None and _read_environment() == _template().environment:
        words = command[len(PROGRAM) :]
        return _template().fork(words, str(folder or pathlib.Path.cwd()), stdout, stderr)
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def run(*words: str, folder: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program with the arguments `words` to its end; return its exit code and output."""
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        command = [*PROGRAM, *words]
        code = start(command, stdout.fileno(), stderr.fileno(), folder=folder).wait()
        stdout.seek(0)
        stderr.seek(0)
        return subprocess.CompletedProcess(command, code, stdout.read(), stderr.read())


@functools.cache
def _template() -> _Template:
    return _Template()


def stop_template() -> None:
    """End the template, if there is one."""
    if _template.cache_info().currsize:
        _template().stop()
        _template.cache_clear()


def _read_environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name != _TEST_VARIABLE}


@contextlib.contextmanager
def _adopting_orphans() -> Iterator[None]:
    """Make this process the parent of descendants whose parent ends meanwhile."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def main() -> None:
    """Run the template: import the modules, and answer each request with a process id."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the entry point does
    for name in _MODULES:
        importlib.import_module(name)
    from policysched.profiles import policies  # noqa: PLC0415 - imports NumPy

    # Reads the table of the parser, and compiles its patterns.
    policies.load_policy_set([str(_ROOT / "policies")], {})
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, _REQUEST_BYTES, 2)
        if not request:
            return  # the tests have ended
        pid = _fork_orphan(requests, request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        requests.send(str(pid).encode())


def _fork_orphan(requests: socket.socket, request: bytes, descriptors: list[int]) -> int:
    """Fork twice and return the process id of the second fork, whose parent has ended."""
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            os.close(writing)
            requests.close()
            _run_program(request, descriptors)
        os.write(writing, str(pid).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(between, 0)
    with os.fdopen(reading) as answer:
        return int(answer.read())


def _run_program(request: bytes, descriptors: list[int]) -> NoReturn:
    """Run the program with the arguments of a request; never return."""
    words, folder = json.loads(request)
    os.setsid()
    os.chdir(folder)
    sys.path[0] = folder  # as `python -m` does
    for number, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout = _open_stream(sys.stdout, 1, buffering=-1)
    sys.stderr = _open_stream(sys.stderr, 2, buffering=1)
    sys.argv = [_FILE, *words]
    sys.modules["policysched.__main__"].run()
    raise AssertionError("the program has returned")


def _open_stream(former: TextIO, number: int, *, buffering: int) -> TextIO:
    """Return a stream for a new descriptor; `former` has cached whether the old one could seek."""
    return open(
        number,
        "w",
        buffering=buffering,
        encoding=former.encoding,
        errors=former.errors,
        closefd=False,
    )


if __name__ == "__main__":
    main()
