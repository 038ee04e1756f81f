"""Histograms that are cheap to update: each observation costs one search and one addition."""

from __future__ import annotations

import bisect
from collections.abc import Iterator


def make_exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return `count` upper bounds like `ExponentialBuckets` of Prometheus' Go client."""
    return tuple(start * factor**power for power in range(count))


class Histogram:
    """Counts observed values per bucket.

    Attributes:
        bounds: upper bounds, inclusive and ascending.
        counts: number of values in each bucket, not cumulative; the last entry counts the values
            above all bounds.
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
        """Start without any combination; all histograms share `bounds`."""
        self.labels = labels
        self._bounds = bounds
        self._made: dict[tuple[str, ...], Histogram] = {}

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], Histogram]]:
        """Iterate over the combinations of label values so far, each with its histogram."""
        return iter(self._made.items())

    def observe(self, value: float, *values: str) -> None:
        """Count one value for a combination of label values, given in the order of `labels`."""
        made = self._made.get(values)
        if made is None:
            made = self._made[values] = Histogram(self._bounds)
        made.observe(value)
