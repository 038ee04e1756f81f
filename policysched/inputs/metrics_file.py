"""Reads metric values from a file instead of Prometheus, for `--metrics` and `run --metrics-file`.

    cpu_busy:   {node-1: 91%, node-2: 0.4, node-3: _, node-4: stale}
    net_in:     {node-1: 10Mi}

The file is YAML or JSON. It maps metric names, as the policies use them, to nodes and their values.
The mapping can be under a key `metrics`, as in a policy test. A value is written as in a policy
(`91%`, `10Mi`, `500m`, `1h`), or as the plain number that the query would return. `_` means that
there is no sample, and `stale` that the sample is too old; an absent node has no sample either.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, SupportsFloat, TypeAlias

from policysched import errors, spelling, units
from policysched.cluster.metrics import metric_table
from policysched.inputs import object_lists, plain_yaml
from policysched.lang.words import numerals

if TYPE_CHECKING:
    from policysched.lang.checked import checked

Samples: TypeAlias = dict[str, dict[str, metric_table.Sample]]
"""Metric key → node → sample."""

_MISSING = (None, "_", "missing")
_STALE = "stale"
_WRAPPER = "metrics"
_HELP = "write `metric: {node: value}`, with values such as 91%, 10Mi, 0.5, _ or stale"


@dataclasses.dataclass(frozen=True, slots=True)
class MetricsFile:
    """The samples in a metrics file, and the objects that it names.

    Attributes:
        path: the path of the file.
        text: the content, which can be parsed again for other declared metrics.
        named: metric target (`node` or `cluster`) → the names of that kind in the file, including
            names without a sample.
    """

    path: str
    text: str
    samples: Samples
    named: Mapping[str, frozenset[str]]


def read_metric_samples(
    path: str, declared: Iterable[checked.CheckedMetric], measured_at: datetime.datetime
) -> Samples:
    """Return only the samples in a metrics file; see `read_metrics_file`."""
    return read_metrics_file(path, declared, measured_at).samples


def read_metrics_file(
    path: str, declared: Iterable[checked.CheckedMetric], measured_at: datetime.datetime
) -> MetricsFile:
    """Return the samples in the file `path`, with the time `measured_at`, and the names in it.

    Raises:
        InputError: the file cannot be read, names a metric that no policy declares, or contains a
            value that does not fit the metric's unit.
    """
    try:
        text = object_lists.read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.InputError(path, "is not UTF-8 text") from error
    return parse_metrics_text(text, path, tuple(declared), measured_at)


def parse_metrics_text(
    text: str,
    where: str,
    declared: Sequence[checked.CheckedMetric],
    measured_at: datetime.datetime,
) -> MetricsFile:
    """Parse the text of a metrics file; `where` names it in errors. See `read_metrics_file`."""
    tables = _parse_json_tables(text)
    if tables is not None:
        try:
            samples = make_samples_from_tables(tables, lambda _: where, declared, measured_at)
            return MetricsFile(where, text, samples, _collect_target_names(tables, declared))
        except errors.InputError:
            pass  # parsed again below, to report the line
    document = plain_yaml.load_yaml_document(text, where)
    tables, path = _unwrap_metric_tables(document, where)
    samples = make_samples_from_tables(
        tables, lambda key: f"{where}:{document.line((*path, *key))}", declared, measured_at
    )
    return MetricsFile(where, text, samples, _collect_target_names(tables, declared))


def _collect_target_names(
    tables: Mapping[str, plain_yaml.Value], declared: Sequence[checked.CheckedMetric]
) -> dict[str, frozenset[str]]:
    """Return the nodes and clusters in the tables, keyed by the target of the metric."""
    named: dict[str, frozenset[str]] = {}
    for metric in declared:
        nodes = tables.get(metric.name)
        if isinstance(nodes, Mapping):
            named[metric.target] = named.get(metric.target, frozenset()) | nodes.keys()
    return named


def make_samples_from_tables(
    tables: Mapping[str, plain_yaml.Value],
    place_of: Callable[[plain_yaml.Path], str],
    declared: Iterable[checked.CheckedMetric],
    measured_at: datetime.datetime,
) -> Samples:
    """Return the samples in a mapping from metric to node to value; see `read_metric_samples`.

    `place_of` returns the place of the value at a path within `tables`.
    """
    by_name: dict[str, list[checked.CheckedMetric]] = {}
    for metric in declared:
        by_name.setdefault(metric.name, []).append(metric)
    samples: Samples = {}
    for name, nodes in tables.items():
        place = place_of((name,))
        if not isinstance(nodes, Mapping):
            raise errors.InputError(
                place, f"`{name}` is not a mapping from node to value", help=_HELP
            )
        for metric in by_name.get(name) or _refuse_unknown_metric(name, by_name, place):
            samples[metric.key] = {}
            for node, value in nodes.items():
                place = place_of((name, node))
                sample = _make_sample(value, metric, measured_at.timestamp(), place)
                if sample is not None:
                    samples[metric.key][node] = sample
    return samples


def _parse_json_tables(text: str) -> Mapping[str, plain_yaml.Value] | None:
    """Return the tables if the text is JSON, which parses much faster than YAML, else None."""
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(
            text, object_pairs_hook=_refuse_duplicate_keys, parse_constant=_refuse_json_constant
        )
    except (ValueError, RecursionError):
        return None
    tables = value[_WRAPPER] if list(value) == [_WRAPPER] else value
    return tables if isinstance(tables, Mapping) else None


def _refuse_duplicate_keys(
    pairs: list[tuple[str, plain_yaml.Value]],
) -> dict[str, plain_yaml.Value]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _refuse_json_constant(name: str) -> float:
    raise ValueError(name)


def _unwrap_metric_tables(
    document: plain_yaml.YamlDocument, where: str
) -> tuple[Mapping[str, plain_yaml.Value], plain_yaml.Path]:
    """Return the tables and their path, which is `metrics` or the top level."""
    value = {} if document.value is None else document.value
    path: plain_yaml.Path = ()
    if isinstance(value, Mapping) and list(value) == [_WRAPPER]:
        value, path = value[_WRAPPER], (_WRAPPER,)
    if not isinstance(value, Mapping):
        raise errors.InputError(where, "is not a mapping from metric to node to value", help=_HELP)
    return value, path


def _refuse_unknown_metric(
    name: str, declared: Mapping[str, object], place: str
) -> list[checked.CheckedMetric]:
    """Raise the error for a metric that no policy declares."""
    advice = spelling.suggest_names(name, declared) or (
        f"the policies declare {spelling.join_alternatives(f'`{d}`' for d in declared)}"
        if declared
        else "the policies declare no metric"
    )
    raise errors.InputError(place, f"no policy declares a metric `{name}`", help=advice)


def _make_sample(
    value: plain_yaml.Value, metric: checked.CheckedMetric, measured_at_seconds: float, place: str
) -> metric_table.Sample | None:
    """Return the sample that a value describes; None for a missing sample."""
    if value in _MISSING:
        return None
    if value == _STALE:
        too_old = measured_at_seconds - metric.max_age_seconds - 1
        return metric_table.Sample(0.0, too_old)
    number = _convert_sample_value(value, metric)
    if number is None or _is_forbidden_negative_ratio(number, metric):
        problem = f"`{value}` is not a value of `{metric.name}`, whose unit is {metric.unit}"
        raise errors.InputError(place, problem, help=_EXAMPLES.get(metric.unit, _HELP))
    return metric_table.Sample(number, measured_at_seconds)


_EXAMPLES = {
    units.RATIO: "write 0.91 or 91%",
    units.BYTES: "write 10Gi, or the plain number of bytes",
    units.BYTES_PER_SECOND: "write 10Mi, or the plain number of bytes per second",
    units.CORES: "write 500m or 0.5",
    units.SECONDS: "write 1h30m, or the plain number of seconds",
}


def _convert_sample_value(value: plain_yaml.Value, metric: checked.CheckedMetric) -> float | None:
    """Return a value in the scale of the query, or None if it does not fit the unit."""
    unit = metric.unit
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _convert_plain_number(value, metric)
    literal = numerals.parse_numeral(value) if isinstance(value, str) else None
    if literal is None:
        return None
    if literal.plain is not None:
        return _convert_plain_number(literal.plain, metric)
    canonical = literal.convert_to_unit(unit)
    if canonical is None:
        return None
    return canonical / units.CORES_SCALE if unit == units.CORES else canonical


def _is_forbidden_negative_ratio(number: float, metric: checked.CheckedMetric) -> bool:
    """Return whether a ratio is below 0 although `between` does not allow it."""
    return metric.unit == units.RATIO and number < min(metric.low or 0.0, 0.0)


def _convert_plain_number(number: SupportsFloat, metric: checked.CheckedMetric) -> float | None:
    """Return a plain number, or None if it is invalid.

    A ratio above 1 is invalid unless `between` allows it: the `%` is probably missing.
    """
    try:
        value = float(number)
    except OverflowError:
        return None
    if not math.isfinite(value):
        return None
    if metric.unit != units.RATIO or abs(value) <= 1:
        return value
    if metric.low is None or metric.high is None:
        return None
    return value if metric.low <= value <= metric.high else None
