"""The costs of calls with both HTTP clients."""

from __future__ import annotations

import pytest

from benchmarks.running import calls


def test_both_clients_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Each client has a line, and the ratio follows."""
    assert calls.main(["--calls", "20", "--rounds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["call_connections", "aiohttp"]
    assert all(float(number) > 0 for line in lines[1:3] for number in line.split()[1:])


def test_a_round_without_calls_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The cost per call needs at least one call."""
    with pytest.raises(SystemExit) as raised:
        calls.main(["--calls", "0"])
    assert raised.value.code == 3
    assert "--calls" in capsys.readouterr().err
