"""`policysched lsp` as a command; what it answers is in tests/language_server."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import Any

import pytest

from policysched.cli import main


def test_without_pygls_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that names the extra, and exit code 2."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert main.main(["lsp"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "policysched: policysched lsp: needs pygls, which is not installed "
        "(install policysched[lsp])\n"
    )


def _message(method: str, params: dict[str, Any]) -> bytes:
    sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    body = json.dumps(sent).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"hello\n", id="no message"),
        pytest.param(b"Content-Length: 2\r\n\r\n{}", id="an empty message"),
        pytest.param(b"Content-Length: 5\r\n\r\n{{{{{", id="no JSON"),
        pytest.param(b"Content-Length: 99999999999999999\r\n\r\n{}", id="too large"),
        pytest.param(b"Content-Length: 99999999999999999999\r\n\r\n{}", id="beyond numbers"),
        pytest.param(_message("textDocument/hover", {"position": {"line": -1}}), id="wrong params"),
    ],
)
def test_a_client_that_goes_without_notice(sent: bytes) -> None:
    """Whatever it has sent, the server ends with exit code 1, and no traceback ends it."""
    command = [sys.executable, "-m", "policysched", "lsp"]
    done = subprocess.run(command, input=sent, capture_output=True, check=False, timeout=120)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_it_takes_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    """A path is a mistake: editors open files."""
    assert main.main(["lsp", "web.policy"]) == 3
    assert "web.policy" in capsys.readouterr().err
