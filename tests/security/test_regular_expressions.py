"""Our own regular expressions take time in proportion to a text, whatever the text is."""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
import re
import sys
import types
from typing import Any

import pytest

import policysched
from tests.security import confined

_LENGTH = 20_000  # so long that the square of it takes a minute for each expression
_PIECES = ("a", "1", "-", ".", " ", "_", "/", "a.", "a-", "1.", "1m", "'", '"', "\\", "`", "[a]")
_ENDS = ("", "!", "\n", "'", '"', "\x00", "1", "a")
_PROGRAM = "from tests.security import test_regular_expressions as t; t.attack_all()"


def patterns() -> dict[str, re.Pattern[Any]]:
    """Return every compiled regular expression of policysched's modules, by where it is."""
    found: dict[str, re.Pattern[Any]] = {}
    for info in pkgutil.walk_packages(policysched.__path__, "policysched."):
        if info.name.endswith("__main__"):
            continue
        module: types.ModuleType = importlib.import_module(info.name)
        found |= {
            f"{info.name}.{name}": value
            for name, value in vars(module).items()
            if isinstance(value, re.Pattern)
        }
    return found


def attack_all() -> None:
    """Match each with long texts of its own kind that nearly match, and say which is at work."""
    for name, pattern in patterns().items():
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        for piece in _PIECES:
            for end in _ENDS:
                text = piece * (_LENGTH // len(piece)) + end
                attacked = text if isinstance(pattern.pattern, str) else text.encode()
                pattern.match(attacked)
                pattern.fullmatch(attacked)


def test_there_are_some() -> None:
    """The search below does not look in the wrong place."""
    assert len(patterns()) >= 30


@pytest.mark.slow
@pytest.mark.proof
def test_none_backtracks_for_long(tmp_path: pathlib.Path) -> None:
    """All of them together are done within the CPU time that a quadratic one would take alone."""
    done = confined.python("-c", _PROGRAM, folder=tmp_path)
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"{last}: {done.stderr[-2000:]}"
    assert len(done.stdout.splitlines()) == len(patterns())
