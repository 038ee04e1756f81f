"""The oracle as a running process: kube-scheduler's own CEL, asked in JSON lines.

`oracle/` is its source; `tests/realcluster/components.py` builds it once.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import types
from typing import Any, Self

from tests.realcluster import components


@dataclasses.dataclass(frozen=True)
class Answer:
    """What an evaluator says of an expression.

    Attributes:
        compile_error: why it does not compile, or "".
        results: for each device whether it matches, or the text of an error.
    """

    compile_error: str
    results: list[bool | str]


class Oracle:
    """A running oracle, which is a context manager; not for several threads."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the process, after building it if that has not been done yet.

        Raises:
            components.ComponentError: it cannot be built.
        """
        self._process = subprocess.Popen(
            [components.binary("cel-oracle")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
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

    def ask(self, expression: str, devices: list[dict[str, Any]]) -> Answer:
        """Return the answer for devices in the form of a ResourceSlice."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        request = {"expression": expression, "devices": devices}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        results = answer.get("results") or []
        return Answer(
            answer.get("compileError", ""),
            [each.get("error") or each["matches"] for each in results],
        )
