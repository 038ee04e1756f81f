"""`policysched karmada simulate` as a running process that answers JSON lines."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def running(*options: str) -> Iterator[Callable[[dict[str, Any]], list[dict[str, Any]]]]:
    """Yield what asks it about a control plane; the options go to the command."""
    argv = [sys.executable, "-m", "policysched", "karmada", "simulate", "--cluster", "-", *options]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def ask(plane: dict[str, Any]) -> list[dict[str, Any]]:
        stdin.write(json.dumps(plane).encode() + b"\n")
        stdin.flush()
        results: list[dict[str, Any]] = json.loads(stdout.readline())
        return results

    try:
        yield ask
    finally:
        process.kill()
        process.communicate()
