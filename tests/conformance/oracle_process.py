"""The oracle as a running process: kube-scheduler's own plugins, asked in JSON lines.

`oracle/` is its source; `tests/realcluster/components.py` builds it once.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Self

from tests.realcluster import components

if TYPE_CHECKING:
    import types

VERDICT, PLACE, PREEMPT = "verdict", "place", "preempt"
RESCORE, NORMALIZE = "rescore", "normalize"
"""What can be asked about a cluster."""


class OracleError(Exception):
    """The oracle could not answer a case, or has ended."""


class Oracle:
    """A running oracle, which is a context manager; not for several threads.

    Example:
        with Oracle() as oracle:
            oracle.ask(cluster, VERDICT, PLACE)["verdict"]
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the process, after building it if that has not been done yet.

        Raises:
            components.ComponentError: it cannot be built.
        """
        self._process = subprocess.Popen(
            [components.binary("oracle")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def ask(
        self, cluster: dict[str, Any], *questions: str, config: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the answers by question; the answer to `normalize` is under `cluster`.

        Args:
            cluster: a v1 List.
            questions: what to answer, of `VERDICT`, `PLACE`, `PREEMPT`, `RESCORE` and `NORMALIZE`.
            config: `pluginConfig`, `weights` and `disabled` where they differ from the default
                profile.

        Raises:
            OracleError: it cannot answer.
        """
        request = {"name": "", "cluster": cluster, "ask": questions, "config": config}
        answer: dict[str, Any] = json.loads(self._exchange(json.dumps(request).encode()))
        if "error" in answer:
            raise OracleError(answer["error"])
        return answer

    def _exchange(self, line: bytes) -> bytes:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line + b"\n")
            process.stdin.flush()
        except (OSError, ValueError) as error:  # ValueError: of a pipe that is closed
            raise OracleError(f"the oracle has ended: {error}") from error
        answer = process.stdout.readline()
        if not answer:
            raise OracleError(f"the oracle ended with {process.wait()}")
        return answer
