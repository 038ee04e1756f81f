"""What fits, and scores of utilisation: examples by hand, and compiled against interpreted."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policysched.plugins.kernels import allocation
from tests import examples
from tests.kernels import both_ways

Ints = npt.NDArray[np.int64]
BOTH = both_ways.load_both("resources")
both_ways_of = pytest.mark.parametrize("kernel", BOTH, ids=["installed", "interpreted"])

_AMOUNTS = st.sampled_from([0, 1, 2, 3, 500, 4000, 4100, 2**39 + 7, 2**53 + 1, 2**62, 2**63 - 1])


def _ints(*values: Any) -> Ints:
    return np.array(values, np.int64)


def _write(kernel: Any, name: str, size: int, *args: Any) -> list[int]:
    """Return what a kernel writes for all rows, in its last argument."""
    dtype = np.int32 if name == "write_fit_codes" else np.int64
    out = np.full(size, -7, dtype)
    getattr(kernel, name)(np.arange(size), *args, out)
    return out.tolist()


def _score(kernel: Any, name: str, requested: Ints, allocatable: Ints, weights: Ints) -> list[int]:
    """Return the points of nodes, whose amounts are int64 (k, n)."""
    rows = [np.ascontiguousarray(part.T) for part in (allocatable, requested)]
    ids, wanted = np.arange(len(requested)), np.zeros(len(requested), np.int64)
    defaults = np.ascontiguousarray(np.resize(rows[1], (len(rows[1]), 2)))
    defaults[:, : requested.shape[0]] = rows[1][:, :2]
    size = len(rows[0])
    if name == "ratio":
        table = allocation.broken_line([(0, 0), (50, 0), (100, 99)])
        args = (*rows, defaults, ids, wanted, weights, table)
        return _write(kernel, "write_capacity_ratio_points", size, *args)
    is_least = name == "least"
    args = (*rows, defaults, ids, wanted, weights)
    return _write(kernel, "write_utilization_points", size, *args, is_least)


@both_ways_of
@pytest.mark.parametrize(
    "name, expected", [("least", [100, 75, 0, 0, 0]), ("most", [0, 25, 100, 100, 0])]
)
def test_utilization(kernel: Any, name: str, expected: list[int]) -> None:
    """Empty, a quarter, full, beyond full, and a node without the resource."""
    found = _score(kernel, name, _ints([0, 1, 4, 5, 0]), _ints([4, 4, 4, 4, 0]), _ints(1))
    assert found == expected


@both_ways_of
def test_the_smallest_number_divided_by_minus_one_stays(kernel: Any) -> None:
    """As in Go; a processor would end the process."""
    assert _score(kernel, "most", _ints([-(2**61)]), _ints([-1]), _ints(1)) == [-(2**63)]


@both_ways_of
def test_a_weighted_mean_rounds_down_twice(kernel: Any) -> None:
    """33 and 66, weighted 1 and 2, make 55, not 55.5."""
    assert _score(kernel, "least", _ints([2], [1]), _ints([3], [3]), _ints(1, 2)) == [55]


@both_ways_of
def test_the_ratio_leaves_out_resources_without_points(kernel: Any) -> None:
    """25 % → 0 points, 75 % → 49, 100 % → 99: the mean of the last two is 74."""
    requested, allocatable = _ints([1], [3], [4]), _ints([4], [4], [4])
    assert _score(kernel, "ratio", requested, allocatable, _ints(1, 1, 1)) == [74]
    assert _score(kernel, "ratio", requested[:2], allocatable[:2], _ints(9, 1)) == [49]


@both_ways_of
@pytest.mark.parametrize(
    "allocated, wanted, allocatable, expected",
    [
        pytest.param([0, 0], [50, 50], [100, 100], 75, id="even before and after"),
        pytest.param([50, 0], [0, 50], [100, 100], 87, id="evens out"),
        pytest.param([50, 50], [50, 0], [100, 100], 62, id="makes uneven"),
        pytest.param([300, 100], [7, 7], [100, 100], 75, id="fractions end at 1"),
        pytest.param([50, 7], [10, 10], [100, 0], 75, id="one resource is always balanced"),
        pytest.param([0, 0, 0], [0, 50, 100], [100, 100, 100], 54, id="three: 59 after 100"),
        pytest.param([0, 0, 0], [0, 7, 100], [100, 0, 100], 50, id="two of three: 50 after 100"),
    ],
)
def test_balance(
    kernel: Any, allocated: list[int], wanted: list[int], allocatable: list[int], expected: int
) -> None:
    """Half the gain in balance above 75."""
    args = (_ints(allocatable), _ints(allocated), np.arange(len(wanted)), _ints(*wanted))
    assert _write(kernel, "write_balanced_points", 1, *args) == [expected]


@both_ways_of
@pytest.mark.parametrize(
    "free, pods, code",
    [
        pytest.param([5, 5], 0, 0b0000, id="fits exactly"),
        pytest.param([4, 5], 0, 0b0100, id="the first is short"),
        pytest.param([5, 4], 0, 0b1000, id="the second is short"),
        pytest.param([5, 5], 1, 0b0001, id="no pod slot"),
        pytest.param([4, 4], 1, 0b1101, id="everything"),
        pytest.param([-6, 5], 0, 0b0110, id="an empty node is too small"),
    ],
)
def test_fit_codes(kernel: Any, free: list[int], pods: int, code: int) -> None:
    """One bit for each resource; 10 are allocatable, or 4 if `free` is below -5."""
    allocatable = _ints([4 if amount < -5 else 10 for amount in free])
    args = (allocatable, allocatable - free, _ints(pods), _ints(1), np.arange(2), _ints(5, 5))
    by_class = np.zeros(2, np.uint8)
    assert _write(kernel, "write_fit_codes", 1, *args, by_class) == [code]


@both_ways_of
def test_resources_beyond_the_twentieth_share_a_bit(kernel: Any) -> None:
    """Resource 19 has its own bit; 20 and 24 have the last one."""
    allocatable, wanted = np.full((3, 25), 9), np.ones(25, np.int64)
    requested = np.zeros((3, 25), np.int64)
    requested[[0, 1, 2], [19, 20, 24]] = 9
    args = (allocatable, requested, _ints(0, 0, 0), _ints(9, 9, 9), np.arange(25), wanted)
    by_class = np.zeros(25, np.uint8)
    assert _write(kernel, "write_fit_codes", 3, *args, by_class) == [1 << 21, 1 << 22, 1 << 22]


@both_ways_of
def test_what_classes_provide_is_compared_where_a_device_plugin_has_some(kernel: Any) -> None:
    """Rows 0 and 1 have none of the resource; a class provides it for the second call only."""
    allocatable = _ints([0], [0], [2])
    args = (allocatable, _ints([0], [1], [0]), _ints(0, 0, 0), _ints(9, 9, 9), np.arange(1))
    for by_class, codes in ((0, [0b110] * 3), (1, [0, 0, 0b110])):
        flags = np.full(1, by_class, np.uint8)
        assert _write(kernel, "write_fit_codes", 3, *args, _ints(3), flags) == codes


@both_ways_of
def test_only_the_given_rows_are_written(kernel: Any) -> None:
    """The others keep what they had."""
    out = np.full(4, -7)
    amounts = np.full((4, 2), 8)
    args = (amounts, amounts // 2, np.arange(2), _ints(0, 0), out)
    kernel.write_balanced_points(np.array([3, 1]), *args)
    assert out.tolist() == [-7, 75, -7, 75]


@settings(max_examples=examples.scale(60))
@given(data=st.data(), count=st.integers(1, 5), size=st.integers(1, 6))
def test_compiled_and_interpreted_kernels_agree(data: st.DataObject, count: int, size: int) -> None:
    """To the last bit, also if amounts wrap around."""

    def draw(shape: Any, elements: st.SearchStrategy[int] = _AMOUNTS) -> Ints:
        return data.draw(hnp.arrays(np.int64, shape, elements=elements))

    ids = np.array(data.draw(st.permutations(range(5)))[:count])
    allocatable, requested, defaults = draw((size, 5)), draw((size, 5)), draw((size, 2))
    wanted, weights = draw(count), draw(count, st.integers(1, 100))
    flags = data.draw(hnp.arrays(np.uint8, count, elements=st.integers(0, 1)))
    table = allocation.broken_line([(0, 0), (30, 20), (100, 100)])
    scored = (allocatable, requested, defaults, ids, wanted, weights)
    calls: list[tuple[Any, ...]] = [
        ("write_fit_codes", allocatable, requested, draw(size), draw(size), ids, wanted, flags),
        ("write_utilization_points", *scored, True),
        ("write_utilization_points", *scored, False),
        ("write_capacity_ratio_points", *scored, table),
        ("write_balanced_points", allocatable, requested, ids, wanted),
    ]
    for name, *args in calls:
        installed, interpreted = (_write(kernel, name, size, *args) for kernel in BOTH)
        assert installed == interpreted, name
