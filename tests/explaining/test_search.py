from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.explaining.numbers import step_search


@given(first=st.integers(1, 3000), most=st.integers(0, 2000))
def test_what_holds_from_some_step_on_is_found_there(first: int, most: int) -> None:
    """The fewest steps, or None where it does not hold as far as may be looked."""
    found = step_search.find_fewest_steps(lambda steps: steps >= first, most)
    assert found == (first if first <= most else None)


@given(holding=st.sets(st.integers(1, 60)), most=st.integers(0, 60))
def test_one_step_less_is_never_enough(holding: set[int], most: int) -> None:
    """Wherever it holds and ceases to, what is found is a place where it begins."""
    found = step_search.find_fewest_steps(holding.__contains__, most)
    if found is not None:
        assert found <= most
        assert found in holding
        assert found - 1 not in holding


@pytest.mark.parametrize("first", [1, 1000, 100_000])
def test_few_questions_are_asked(first: int) -> None:
    """As many as two logarithms."""
    asked: list[int] = []

    def holds(steps: int) -> bool:
        asked.append(steps)
        return steps >= first

    assert step_search.find_fewest_steps(holds, 100_000) == first
    assert len(asked) <= 2 * first.bit_length() + 2
