"""The generator reaches what kube-scheduler can say: every row of a table in the documentation."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance import oracle_process, reach, run
from tests.conformance.generate import families

_PAGE = pathlib.Path(__file__).parents[2] / "docs" / "conformance.md"
_ROW = re.compile(r"^\| (\w*) \| (\w+) \| `([^`]+)` \|$", re.MULTILINE)
_SEED = 1
_CLUSTERS = 3000
"""As many as `make test` compares, of the seed above so that the answer is always the same."""


@pytest.mark.e2e
@pytest.mark.proof
def test_every_documented_reason_is_reached() -> None:
    """Some cluster gets each listed plugin, code and reason; none gets one that is not listed."""
    listed = set(_ROW.findall(_PAGE.read_text("utf-8")))
    assert len(listed) > 60
    reached = set()
    with oracle_process.Oracle() as oracle:
        for case in _spread_over_families():
            asked = [question for question in case["ask"] if question != oracle_process.PLACE]
            reached |= set(
                reach.said(oracle.ask(case["cluster"], *asked, config=case.get("config")))
            )
    assert sorted(reached - listed) == [], "reasons that docs/conformance.md does not list"
    assert sorted(listed - reached) == [], "reasons that no generated cluster reaches any more"


@pytest.mark.parametrize(
    "reason, expected",
    [
        ('persistentvolumeclaim "a" not found', "persistentvolumeclaim … not found"),
        ("Insufficient example.com/gpu", "Insufficient …"),
        ("Insufficient cpu", "Insufficient cpu"),
    ],
)
def test_names_are_left_out(reason: str, expected: str) -> None:
    """Reasons about different objects are the same branch."""
    assert reach.template(reason) == expected


def _spread_over_families() -> Iterator[dict[str, Any]]:
    for family, count in run.shares(list(families.FAMILIES), _CLUSTERS):
        for number in range(count):
            yield families.case(family, _SEED, number)
