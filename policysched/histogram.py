"""Histograms that cost a search and an addition: the exposition reads them when somebody asks."""

from __future__ import annotations

import bisect
from collections.abc import Iterator


def make_exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return `count` upper bounds, each `factor` times the one before (ExponentialBuckets)."""
    return tuple(start * factor**power for power in range(count))


class Histogram:
    """How many values lie up to each bound.

    Attributes:
        bounds: upper bounds, included, ascending.
        counts: values in each bucket alone, with one more for those above all bounds.
        total: the sum of all values.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        """Start without values."""
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value


class LabelledHistograms:
    """One histogram for each combination of label values.

    Attributes:
        labels: names of the labels.
    """

    def __init__(self, labels: tuple[str, ...], bounds: tuple[float, ...]) -> None:
        """Start without any combination; `bounds` are those of all histograms."""
        self.labels = labels
        self._bounds = bounds
        self._made: dict[tuple[str, ...], Histogram] = {}

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], Histogram]]:
        """Iterate over the label values and histograms there are."""
        return iter(self._made.items())

    def observe(self, value: float, *values: str) -> None:
        """Count one value under label values, in the order of `labels`."""
        made = self._made.get(values)
        if made is None:
            made = self._made[values] = Histogram(self._bounds)
        made.observe(value)
