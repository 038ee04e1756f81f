"""Counts and durations of requests to the API server."""

from __future__ import annotations

from collections import Counter

from policysched import histogram

NO_ANSWER = "<error>"
"""The status code label of requests without an answer, as in client-go."""

_BOUNDS_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Histogram bounds of `component-base/metrics/prometheus/restclient/metrics.go`."""


class RequestStats:
    """Counts and durations of all attempts.

    Attributes:
        counts: attempts, keyed by (status code, method).
        durations: seconds until an answer began or the attempt failed, keyed by method.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.counts: Counter[tuple[str, str]] = Counter()
        self.durations = histogram.LabelledHistograms(("verb",), _BOUNDS_SECONDS)

    def count_request(self, method: str, code: str, seconds: float) -> None:
        """Count an attempt."""
        self.counts[code, method] += 1
        self.durations.observe(seconds, method)
