"""Formats the measured values in the text of `explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from policysched import amounts, units
from policysched.cli.render import output

Report: TypeAlias = Mapping[str, Any]
Reading: TypeAlias = Mapping[str, Any]

_INDENT = "  "
_UNITS = {str(unit): unit for unit in units.NAMES}
_ABSENT = {"missing": "no sample", "stale": "stale", "outOfRange": "out of range"}
_OK = "ok"


def format_metric_table(report: Report) -> list[str]:
    """Format each metric over all nodes, and the rules that an outage affects."""
    metrics = report.get("metrics", {})
    if not metrics:
        return []
    rows = [
        (
            name,
            _format_value_range(metric),
            _format_age_range(metric),
            _format_added_load(metric),
            _format_absent_value_counts(metric),
        )
        for name, metric in metrics.items()
    ]
    header = ("MEASURED", "VALUES", "SAMPLES", "JUST PLACED", "WITHOUT A VALUE")
    return ["", output.format_table(header, rows, _INDENT), *_format_rules_in_outage(report)]


def format_node_metrics(report: Report, node: str) -> list[str]:
    """Format each metric on one node."""
    metrics = report.get("metrics", {})
    if not metrics:
        return []
    rows = [
        _format_metric_row(name, metric, metric["nodes"][node]) for name, metric in metrics.items()
    ]
    header = ("MEASURED", "VALUE", "SAMPLE", "JUST PLACED")
    return ["", output.format_table(header, rows, _INDENT), *_format_rules_in_outage(report)]


def _format_rules_in_outage(report: Report) -> list[str]:
    """Format a line for each rule that an outage disables or that keeps the pod pending."""
    waits = report["prefilter"] is not None
    return [
        f"{_INDENT}{'waiting' if waits else 'skipped'}: "
        f"{rule['policy']}/{rule['rule']} (line {rule['line']}): {rule['outage']}"
        for rule in report["rules"]
        if rule["outage"] is not None
    ]


def _format_metric_row(name: str, metric: Report, reading: Reading) -> tuple[str, str, str, str]:
    unit = _UNITS[metric["unit"]]
    age = reading["ageSeconds"]
    sample = "-" if age is None else f"{amounts.format_age(age)} old"
    if reading["state"] == _OK:
        value = amounts.format_amount(reading["value"], unit)
    else:
        value = _ABSENT[reading["state"]]
    return name, value, sample, _format_recent_placements([reading], unit)


def _list_valid_readings(metric: Report) -> list[Reading]:
    return [each for each in metric["nodes"].values() if each["state"] == _OK]


def _format_value_range(metric: Report) -> str:
    """Format the minimum and maximum of a metric over the nodes with valid readings."""
    unit = _UNITS[metric["unit"]]
    return _join_range_ends(
        [
            amounts.format_amount(v, unit)
            for v in _find_minimum_and_maximum(
                each["value"] for each in _list_valid_readings(metric)
            )
        ]
    )


def _format_age_range(metric: Report) -> str:
    ages = [
        amounts.format_age(v)
        for v in _find_minimum_and_maximum(
            each["ageSeconds"] for each in _list_valid_readings(metric)
        )
    ]
    return f"{_join_range_ends(ages)} old" if ages else "-"


def _format_added_load(metric: Report) -> str:
    return _format_recent_placements(_list_valid_readings(metric), _UNITS[metric["unit"]])


def _format_recent_placements(readings: Sequence[Reading], unit: units.Unit) -> str:
    """Format the largest load that recent placements add to a node, and count their pods."""
    pods = sum(each["addedPods"] for each in readings)
    if not pods:
        return "-"
    most = max(each["added"] for each in readings)
    return f"+{amounts.format_amount(most, unit)} by {output.format_count(pods, 'pod')}"


def _format_absent_value_counts(metric: Report) -> str:
    counts = Counter(each["state"] for each in metric["nodes"].values())
    told = [f"{counts[state]:,} {word}" for state, word in _ABSENT.items() if counts[state]]
    return ", ".join(told) or "-"


def _find_minimum_and_maximum(values: Iterable[float]) -> list[float]:
    listed = list(values)
    return [min(listed), max(listed)] if listed else []


def _join_range_ends(ends: list[str]) -> str:
    if not ends:
        return "-"
    low, high = ends
    return low if low == high else f"{low}..{high}"
