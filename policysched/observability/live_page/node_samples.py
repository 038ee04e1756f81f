"""The newest samples of metrics on nodes, and whether rules still use them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from typing import Any

from policysched import amounts
from policysched.cluster.metrics import metric_table, sample_states
from policysched.lang.checked import checked


def describe_samples(
    table: metric_table.MetricTable,
    metrics: Iterable[checked.CheckedMetric],
    name: str,
    now: datetime.datetime,
) -> dict[str, dict[str, Any]]:
    """Return the newest samples of the node `name`, as fields `metrics` and `samples`."""
    samples = {
        metric.name: _describe_sample(metric, table.get_newest_sample(metric.key, name), now)
        for metric in metrics
    }
    shown = {metric: each["value"] for metric, each in samples.items() if each["value"]}
    return {"metrics": shown, "samples": samples}


def list_valid_values(
    table: metric_table.MetricTable,
    metric: checked.CheckedMetric,
    names: Iterable[str],
    now: datetime.datetime,
) -> list[float | None]:
    """Return the value of a metric on each node; None where rules see none."""
    samples = table.get_newest_samples(metric.key)
    found = (samples.get(name) for name in names)
    is_ok = sample_states.SampleState.OK
    return [
        None if each is None or _find_state(metric, each, now) is not is_ok else each.value
        for each in found
    ]


def _describe_sample(
    metric: checked.CheckedMetric, sample: metric_table.Sample | None, now: datetime.datetime
) -> dict[str, Any]:
    """Return a sample in the form of `debug_forms.NodeSample`."""
    fixed = {"maxAgeSeconds": metric.max_age_seconds}
    if sample is None:
        state = sample_states.SampleState.MISSING
        return fixed | {"state": state.value, "value": "", "ageSeconds": None}
    return fixed | {
        "state": _find_state(metric, sample, now).value,
        "value": amounts.format_amount(sample.value, metric.unit),
        "ageSeconds": round(max(now.timestamp() - sample.measured_at_seconds, 0.0), 3),
    }


def _find_state(
    metric: checked.CheckedMetric, sample: metric_table.Sample, now: datetime.datetime
) -> sample_states.SampleState:
    if now.timestamp() - sample.measured_at_seconds > metric.max_age_seconds:
        return sample_states.SampleState.STALE
    low = -math.inf if metric.low is None else metric.low
    high = math.inf if metric.high is None else metric.high
    is_valid = low <= sample.value <= high
    return sample_states.SampleState.OK if is_valid else sample_states.SampleState.OUT_OF_RANGE
