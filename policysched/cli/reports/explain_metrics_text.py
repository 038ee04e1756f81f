"""The part of `explain`, for people, that is about measured values."""

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


def of_pod(report: Report) -> list[str]:
    """Return each metric over all nodes, and the rules that an outage takes out."""
    metrics = report.get("metrics", {})
    if not metrics:
        return []
    rows = [
        (name, _range_of_values(metric), _range_of_ages(metric), _added(metric), _absent(metric))
        for name, metric in metrics.items()
    ]
    header = ("MEASURED", "VALUES", "SAMPLES", "JUST PLACED", "WITHOUT A VALUE")
    return ["", output.table(header, rows, _INDENT), *_outages(report)]


def of_node(report: Report, node: str) -> list[str]:
    """Return each metric on one node."""
    metrics = report.get("metrics", {})
    if not metrics:
        return []
    rows = [_row(name, metric, metric["nodes"][node]) for name, metric in metrics.items()]
    header = ("MEASURED", "VALUE", "SAMPLE", "JUST PLACED")
    return ["", output.table(header, rows, _INDENT), *_outages(report)]


def _outages(report: Report) -> list[str]:
    """Return a line for each rule that drops out, or for whose sake the pod waits."""
    waits = report["prefilter"] is not None
    return [
        f"{_INDENT}{'waiting' if waits else 'skipped'}: "
        f"{rule['policy']}/{rule['rule']} (line {rule['line']}): {rule['outage']}"
        for rule in report["rules"]
        if rule["outage"] is not None
    ]


def _row(name: str, metric: Report, reading: Reading) -> tuple[str, str, str, str]:
    unit = _UNITS[metric["unit"]]
    age = reading["ageSeconds"]
    sample = "-" if age is None else f"{amounts.age_text(age)} old"
    if reading["state"] == _OK:
        value = amounts.text(reading["value"], unit)
    else:
        value = _ABSENT[reading["state"]]
    return name, value, sample, _just_placed([reading], unit)


def _ok(metric: Report) -> list[Reading]:
    return [each for each in metric["nodes"].values() if each["state"] == _OK]


def _range_of_values(metric: Report) -> str:
    unit = _UNITS[metric["unit"]]
    return _range([amounts.text(v, unit) for v in _ends(each["value"] for each in _ok(metric))])


def _range_of_ages(metric: Report) -> str:
    ages = [amounts.age_text(v) for v in _ends(each["ageSeconds"] for each in _ok(metric))]
    return f"{_range(ages)} old" if ages else "-"


def _added(metric: Report) -> str:
    return _just_placed(_ok(metric), _UNITS[metric["unit"]])


def _just_placed(readings: Sequence[Reading], unit: units.Unit) -> str:
    """Return what just-placed pods add at most to a node, and how many they are."""
    pods = sum(each["addedPods"] for each in readings)
    if not pods:
        return "-"
    most = max(each["added"] for each in readings)
    return f"+{amounts.text(most, unit)} by {output.count(pods, 'pod')}"


def _absent(metric: Report) -> str:
    counts = Counter(each["state"] for each in metric["nodes"].values())
    told = [f"{counts[state]:,} {word}" for state, word in _ABSENT.items() if counts[state]]
    return ", ".join(told) or "-"


def _ends(values: Iterable[float]) -> list[float]:
    listed = list(values)
    return [min(listed), max(listed)] if listed else []


def _range(ends: list[str]) -> str:
    if not ends:
        return "-"
    low, high = ends
    return low if low == high else f"{low}..{high}"
