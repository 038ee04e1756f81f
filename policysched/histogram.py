"""Histograms: an observation costs a search and an addition; only scrapes read them."""

from __future__ import annotations

import bisect
from collections.abc import Iterator


def make_exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return `count` upper bounds; each is `factor` times the previous one (ExponentialBuckets)."""
    return tuple(start * factor**power for power in range(count))


class Histogram:
    """The number of observed values per bucket.

    Attributes:
        bounds: upper bounds, inclusive and ascending.
        counts: values in each bucket (not cumulative), and finally those above all bounds.
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
        """Count one value for the label values, which are in the order of `labels`."""
        made = self._made.get(values)
        if made is None:
            made = self._made[values] = Histogram(self._bounds)
        made.observe(value)
