"""The numbers: examples of each formula, worked out by hand or printed by Go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.plugins.kernels import allocation, go_math, normalization, spreading


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return int64 (n,)."""
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    "shape, at, expected",
    [
        pytest.param([(0, 0), (100, 100)], 33, 33, id="rising"),
        pytest.param([(0, 100), (30, 0)], 1, 97, id="falling rounds towards the start"),
        pytest.param([(20, 40), (60, 80)], 10, 40, id="flat before the first corner"),
        pytest.param([(20, 40), (60, 80)], 99, 80, id="flat after the last corner"),
        pytest.param([(20, 40), (60, 80)], 60, 80, id="at a corner"),
    ],
)
def test_broken_line(shape: list[tuple[int, int]], at: int, expected: int) -> None:
    """Between corners the quotient is rounded towards 0 before it is added."""
    assert allocation.broken_line(shape)[at] == expected


@pytest.mark.parametrize(
    "normalize, scores, expected",
    [
        pytest.param(normalization.by_range, [-2, 0, 2], [0, 50, 100], id="range"),
        pytest.param(normalization.by_range, [7, 7], [0, 0], id="range of equals"),
        pytest.param(normalization.by_range, [0, 1, 3], [0, 33, 100], id="range rounds down"),
        pytest.param(normalization.by_range, [], [], id="no nodes"),
    ],
)
def test_normalization(normalize: object, scores: list[int], expected: list[int]) -> None:
    """Raw scores come into the range 0 to 100."""
    assert callable(normalize)
    assert normalize(ints(*scores)).tolist() == expected


@given(
    scores=st.lists(st.integers(-300, 300), min_size=1, max_size=30),
    repeats=st.sampled_from([1, 40]),
    factor=st.sampled_from([1, 200]),
)
def test_positions_are_those_of_go(scores: list[int], repeats: int, factor: int) -> None:
    """Where few scores are possible for many nodes, points are the same as node by node."""
    many = scores * repeats
    smallest, largest = min(many), max(many)
    assert normalization.range_of(ints(*many)) == (smallest, largest - smallest)
    if smallest < largest:
        span = largest - smallest
        expected = [int(100.0 * ((score - smallest) / span)) * factor for score in many]
        found = normalization.in_range(ints(*many), smallest, span, factor)
        assert found.tolist() == expected


@given(
    on_node=st.lists(st.integers(0, 12), min_size=1, max_size=20),
    weight=st.sampled_from([spreading.topology_weight(size) for size in (1, 2, 7, 5000)]),
    max_skew=st.integers(1, 5),
)
def test_points_by_count_are_those_of_nodes(
    on_node: list[int], weight: float, max_skew: int
) -> None:
    """Final points looked up by the number of pods are those that are made node by node."""
    pods = ints(*on_node)
    raw = go_math.round_half_up(spreading.domain_points(pods, weight, max_skew))
    table = spreading.final_points(min(on_node), max(on_node), weight, max_skew)
    assert table.take(pods).tolist() == spreading.fewest_first(raw, None).tolist()


@pytest.mark.parametrize(
    "x, bits",
    [
        pytest.param(2, "0x1.62e42fefa39efp-1", id="2"),
        pytest.param(3, "0x1.193ea7aad030ap+0", id="3, where the C library differs"),
        pytest.param(5, "0x1.9c041f7ed8d33p+0", id="5"),
        pytest.param(14, "0x1.51cca16d7bba8p+1", id="14, where the C library differs"),
        pytest.param(5002, "0x1.10901f6dc84b9p+3", id="5002"),
    ],
)
def test_log_has_the_bits_of_go(x: int, bits: str) -> None:
    """Logarithms are those that Go 1.26 prints, to the last bit."""
    assert go_math.log(float(x)).hex() == bits


def test_rounding_goes_half_up() -> None:
    """As Go's math.Round, also just below one half."""
    values = np.array([0.0, 0.49999999999999994, 0.5, 1.4999, 2.5])
    assert go_math.round_half_up(values).tolist() == [0, 0, 1, 1, 3]


@pytest.mark.parametrize(
    "min_domains, own, expected",
    [
        pytest.param(1, 1, [False, True], id="above the minimum of 1"),
        pytest.param(1, 0, [False, False], id="a pod that does not count itself"),
        pytest.param(3, 0, [False, True], id="too few domains make the minimum 0"),
    ],
)
def test_violating_domains(min_domains: int, own: int, expected: list[bool]) -> None:
    """Domains with 1 and 2 pods, and one with 0 that does not count, at maxSkew 1."""
    found = spreading.violating_domains(
        np.array([0.0, 1.0, 2.0, 0.0]),
        np.array([False, True, True, False]),
        own=own,
        max_skew=1,
        min_domains=min_domains,
    )
    assert found[1:3].tolist() == expected


def test_no_domain_at_all_counts_from_zero() -> None:
    """Without an eligible domain the minimum is 0."""
    found = spreading.violating_domains(
        np.array([0.0, 5.0]), np.array([False, False]), own=0, max_skew=4, min_domains=1
    )
    assert found[1]


def test_fewest_first_ignores_nodes_without_the_label() -> None:
    """Ignored nodes get 0 and do not stretch the scale."""
    found = spreading.fewest_first(ints(0, 2, 4, 9), np.array([False, False, False, True]))
    assert found.tolist() == [100, 50, 0, 0]
    nothing = spreading.fewest_first(ints(0, 0), np.array([True, False]))
    assert nothing.tolist() == [0, 100]
