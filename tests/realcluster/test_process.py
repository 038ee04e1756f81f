from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys
from typing import Any

import pytest

from tests.realcluster import process

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST_OUTGOING_PORT = 32_768
RUN = """
from tests.realcluster import process
print(*(process.free_port() for _ in range(300)), flush=True)
input()
"""


def test_no_two_servers_get_the_same_port() -> None:
    """Not even those of two test runs at once, long before they listen; 300 take two claims."""
    command = [sys.executable, "-c", RUN]
    pipes: Any = {"cwd": ROOT, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as one, subprocess.Popen(command, **pipes) as other:
        ours = [process.free_port() for _ in range(10)]
        told = [_line_of(running) for running in (one, other)]
        for running in (one, other):
            running.communicate("\n")
    ports = [*ours, *(int(port) for ports in told for port in ports)]
    assert len(ports) == len(set(ports)) == 610
    assert max(ports) < FIRST_OUTGOING_PORT


def _line_of(running: subprocess.Popen[str]) -> list[str]:
    assert running.stdout is not None
    return running.stdout.readline().split()


def test_a_port_on_which_another_program_listens_is_passed_over() -> None:
    """The claims are ours alone: other programs know nothing of them."""
    port = process.free_port()
    process._ports.appendleft(port)
    with socket.create_server(("127.0.0.1", port)):
        assert process.free_port() != port


ENDED = """
import os
import pathlib
import pytest
from tests.realcluster import process


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    managed = process.Managed()
    managed.process = process.ServerProcess(["sleep", "3600"], log=folder / "log")
    with managed:
        yield managed.process


def test_that_never_ends(server):
    print(server.pid, process.start_ticks(server.pid), flush=True)
    server.wait(3600)
"""


@pytest.mark.slow
def test_tests_that_are_ended_leave_no_server_behind(tmp_path: pathlib.Path) -> None:
    """SIGTERM ends them as Ctrl-C does, though servers are in sessions of their own."""
    (tmp_path / "test_ended.py").write_text(ENDED)
    options = ["-q", "-s", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", str(tmp_path)]
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    with subprocess.Popen(command, cwd=ROOT, env=own, stdout=subprocess.PIPE, text=True) as running:
        pid, ticks = map(int, _line_of(running))
        running.terminate()
        running.communicate()
    assert running.returncode == pytest.ExitCode.INTERRUPTED
    assert process.start_ticks(pid) != ticks
