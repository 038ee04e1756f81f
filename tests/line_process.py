"""A running Go program of the tests that answers JSON lines: one line in, one line out."""

from __future__ import annotations

import json
import subprocess
import types
from typing import Any, Self

from tests.realcluster import components


class OracleError(Exception):
    """The program could not answer, or has ended."""


class LineProcess:
    """A running program, which is a context manager; not for several threads."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the process, after building it if that has not been done yet.

        Raises:
            components.ComponentError: it cannot be built.
        """
        self._process = subprocess.Popen(
            [components.binary(self._program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
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

    def exchange(self, request: dict[str, Any]) -> bytes:
        """Return the line that answers a request.

        Raises:
            OracleError: the program has ended.
        """
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except (OSError, ValueError) as error:  # ValueError: of a pipe that is closed
            raise OracleError(f"{self._program} has ended: {error}") from error
        answer = process.stdout.readline()
        if not answer:
            raise OracleError(f"{self._program} ended with {process.wait()}")
        return answer
