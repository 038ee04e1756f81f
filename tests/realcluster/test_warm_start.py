from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from tests.realcluster import warm_start

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("--version",), id="output"),
        pytest.param(("check", "missing.policy"), id="error"),
        pytest.param(("fmt", "here.policy"), id="folder"),
    ],
)
def test_a_fork_has_the_output_of_a_process(tmp_path: pathlib.Path, words: tuple[str, ...]) -> None:
    """Exit code, standard output and standard error are the same, in the same folder."""
    (tmp_path / "here.policy").write_text("policy p { for pods }\n")
    command = [sys.executable, "-m", "policysched", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    forked = warm_start.run(*words, folder=tmp_path)
    result = (forked.returncode, forked.stdout, forked.stderr)
    assert result == (done.returncode, done.stdout, done.stderr)


def test_a_fork_is_a_child_and_ends_by_a_signal() -> None:
    """Its parent can wait for it, as for a process started as usual."""
    reading, writing = os.pipe()
    words = ("ui", "--address", "127.0.0.1:0")
    started = warm_start.start([*warm_start.PROGRAM, *words], writing, 2)
    os.close(writing)
    assert isinstance(started, warm_start.ForkedProcess)
    with os.fdopen(reading) as lines:
        assert lines.readline().startswith("the page shows")
        assert started.poll() is None
        assert os.getsid(started.pid) == started.pid
        started.send_signal(signal.SIGKILL)
        assert started.wait(60) == -signal.SIGKILL


def test_a_changed_variable_reaches_a_process(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The template has imported modules with the variables of its start."""
    warm_start.run("--version")
    monkeypatch.setenv("KUBECONFIG", "elsewhere")
    with (tmp_path / "stdout").open("wb") as stdout:
        command = [*warm_start.PROGRAM, "--version"]
        started = warm_start.start(command, stdout.fileno(), stdout.fileno())
    assert isinstance(started, subprocess.Popen)
    assert started.wait(60) == 0
