"""Measure the writes and waits of DynamicResources, with kube-scheduler's labels and buckets.

Source: `pkg/scheduler/metrics/metrics.go`.
"""

from __future__ import annotations

from collections import Counter

from policysched import histogram

_WAIT_BOUNDS = histogram.make_exponential_buckets(0.1, 2, 14)


class ClaimMeasurements:
    """Counts since the start of the process.

    Attributes:
        creations: claims for extended resources by status, `success` or `failure`.
        conditional_devices: devices with binding conditions by (profile, driver, status of the
            wait), once for each attempt.
        waits: duration of waits for binding conditions, in seconds.
    """

    def __init__(self) -> None:
        """Start with nothing measured."""
        self.creations: Counter[str] = Counter()
        self.conditional_devices: Counter[tuple[str, str, str]] = Counter()
        self.waits = histogram.LabelledHistograms(("profile", "driver", "status"), _WAIT_BOUNDS)
