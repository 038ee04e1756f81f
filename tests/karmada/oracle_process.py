"""The oracle as a running process: the algorithm of Karmada's own scheduler, in JSON lines.

`oracle/` is its source; `tests/realcluster/components.py` builds it once.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from typing import TYPE_CHECKING, Any

from tests.realcluster import components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class OracleError(Exception):
    """The oracle could not answer a case."""


@contextlib.contextmanager
def running() -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Yield what asks the oracle: `ask(cluster, plugins=[…], empty=…, gates=…)`.

    The answer is what `policysched karmada simulate` prints.
    """
    process = subprocess.Popen(
        [components.binary("karmada-oracle")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def ask(cluster: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
        stdin.write(json.dumps({"cluster": cluster} | options).encode() + b"\n")
        stdin.flush()
        answer = json.loads(stdout.readline())
        if answer.get("error"):
            raise OracleError(answer["error"])
        bindings: list[dict[str, Any]] = answer["bindings"]
        return bindings

    try:
        yield ask
    finally:
        process.kill()
        process.communicate()
