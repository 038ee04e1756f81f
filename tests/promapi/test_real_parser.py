"""What `check` says of queries beside what a real Prometheus says of them."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from tests.lang import mutation
from tests.lang.checking import test_check_promql
from tests.realcluster import prometheus

if TYPE_CHECKING:
    import pathlib

pytestmark = pytest.mark.e2e

QUERIES = 1500
_COLON_IN_LABEL = re.compile(r"\([^()\[\]{}\"]*:[^()\[\]{}\"]*\)")


def _is_refused(query: str) -> bool:
    """Return whether `check` says that this does not parse."""
    text = f"metric m: ratio = `{query}` node instance"
    found = checker.check([source.SourceText("x.policy", text)]).diagnostics
    return any(
        each.severity is diagnostics.Severity.ERROR and each.message.startswith("the query does")
        for each in found
    )


def test_check_refuses_what_prometheus_refuses_and_nothing_else(tmp_path: pathlib.Path) -> None:
    """No query is refused that Prometheus takes, and hardly any taken that it refuses.

    Two differences are known: bounds of `@`, and labels with a colon in `by (a:b)`, which no
    exporter can have.
    """
    rng = random.Random(5)
    seeds = [
        each.replace("$range", "1h30m").replace("$dev", "a") for each in test_check_promql.SEEDS
    ]
    wrong, missed, taken = [], [], 0
    with prometheus.Prometheus(tmp_path) as server:
        for _ in range(QUERIES):
            query = mutation.mutate_once(rng.choice(seeds), seeds, rng)
            if any(each in query for each in "`$\0\ud800") or not query.strip():
                continue
            problem = server.parse_problem(query)
            is_refused = _is_refused(query)
            taken += not is_refused
            if is_refused and not problem and not _COLON_IN_LABEL.search(query):
                wrong.append(query)
            if problem and not is_refused and "timestamp out of bounds" not in problem:
                missed.append((query, problem))
    assert wrong == []
    assert len(missed) <= QUERIES // 100, missed
    assert taken > QUERIES // 20
