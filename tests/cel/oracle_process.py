"""The oracle as a running process: kube-scheduler's own CEL.

`oracle/` is its source; `tests/realcluster/components.py` builds it once.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from tests import line_process


@dataclasses.dataclass(frozen=True)
class Answer:
    """The results of an evaluator for an expression.

    Attributes:
        compile_error: the reason why it does not compile, or "".
        results: for each device whether it matches, or the text of an error.
    """

    compile_error: str
    results: list[bool | str]


class Oracle(line_process.LineProcess):
    """A running oracle."""

    def __init__(self) -> None:
        super().__init__("cel-oracle")

    def ask(self, expression: str, devices: list[dict[str, Any]]) -> Answer:
        """Return the answer for devices in the form of a ResourceSlice."""
        answer = json.loads(self.exchange({"expression": expression, "devices": devices}))
        results = answer.get("results") or []
        return Answer(
            answer.get("compileError", ""),
            [each.get("error") or each["matches"] for each in results],
        )
