"""Domains that are judged one by one fail as when all are judged at once."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.cluster.columns import columns
from policysched.compiler import domain_judges

_Make = Callable[[], domain_judges.Judge]
_DOMAINS = 4

_JUDGES: dict[str, _Make] = {
    "occupied": domain_judges.Occupied,
    "empty": lambda: domain_judges.Empty(may_be_first=False),
    "empty, may be first": lambda: domain_judges.Empty(may_be_first=True),
    "skewed": lambda: domain_judges.Skewed(own=1, max_skew=1, min_domains=1),
    "skewed, few domains": lambda: domain_judges.Skewed(own=0, max_skew=2, min_domains=3),
}


@pytest.mark.parametrize("make", _JUDGES.values(), ids=_JUDGES)
@hypothesis.given(
    st.lists(st.integers(0, 3), min_size=_DOMAINS, max_size=_DOMAINS),
    st.lists(st.booleans(), min_size=_DOMAINS, max_size=_DOMAINS),
    st.lists(st.tuples(st.integers(1, _DOMAINS), st.integers(0, 3)), max_size=12),
)
def test_one_by_one_is_as_all_at_once(
    make: _Make, begin: list[int], present: list[bool], changes: list[tuple[int, int]]
) -> None:
    """Whatever comes and goes, and by whatever steps."""
    judge = make()
    totals = np.array([0.0, *begin])
    is_present = np.array([False, *present])
    fails = judge.every(totals, is_present)
    for slot, total in changes:
        totals[slot] = total
        found = judge.one(slot, float(total))
        if found is None:
            fails = judge.every(totals, is_present)
        else:
            fails[slot] = found
        assert fails.tolist() == _expected(make, totals, is_present)


def _expected(make: _Make, totals: columns.FloatArray, present: columns.BoolArray) -> list[bool]:
    found: list[bool] = make().every(totals, present).tolist()
    return found
