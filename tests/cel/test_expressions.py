"""Expressions with their results, as kube-scheduler's CEL gives them.

expressions.json is the record: a device, and for each expression whether it matches, the text of
its error, or that it does not compile.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any, Final

import pytest

from tests.cel import compare, oracle_process

_RECORD: Final = json.loads(pathlib.Path(__file__).with_name("expressions.json").read_bytes())
_DOES_NOT_COMPILE: Final = "does not compile"
_CASES: Final[list[dict[str, Any]]] = _RECORD["cases"]


def _summarize(answer: oracle_process.Answer) -> bool | str:
    return answer.results[0] if answer.results else _DOES_NOT_COMPILE


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["expression"])
def test_result_is_the_recorded_one(case: dict[str, Any]) -> None:
    """An expression matches, fails or is refused as recorded; texts of common errors are equal."""
    own = _summarize(compare.ask_policysched(case["expression"], [_RECORD["device"]]))
    recorded = case["result"]
    if isinstance(recorded, bool) or compare.COMPARED_TEXTS.fullmatch(recorded):
        assert own == recorded
    else:
        assert isinstance(own, str)
        assert (own == _DOES_NOT_COMPILE) == (recorded == _DOES_NOT_COMPILE)


@pytest.mark.e2e
def test_record_is_true_of_the_original() -> None:
    """kube-scheduler's CEL gives the recorded results."""
    with oracle_process.Oracle() as oracle:
        answers = [
            {"expression": case["expression"], "result": _summarize(answer)}
            for case in _CASES
            for answer in [oracle.ask(case["expression"], [_RECORD["device"]])]
        ]
    assert answers == _CASES
