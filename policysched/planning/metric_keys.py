"""Separates the keys of metrics that both sides of a plan define differently."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TypeVar, cast

from policysched.lang import source
from policysched.lang.checked import checked, checked_expr
from policysched.profiles import policies

_T = TypeVar("_T")
_SUFFIX = "@from"


def separate_metric_keys(old: policies.PolicySet, new: policies.PolicySet) -> policies.PolicySet:
    """Return the old policies with new keys for metrics that the new side defines differently."""
    known = {metric.key: _remove_missing_value_rules(metric) for metric in new.all_metrics}
    keys = {
        metric.key: metric.key + _SUFFIX
        for metric in old.all_metrics
        if metric.key in known and known[metric.key] != _remove_missing_value_rules(metric)
    }
    if not keys or old.program is None:
        return old
    return dataclasses.replace(old, program=_replace_metric_keys(old.program, keys))


def _remove_missing_value_rules(metric: checked.CheckedMetric) -> checked.CheckedMetric:
    """Return a metric without its rules for missing values, which its readers apply."""
    return dataclasses.replace(metric, missing_action=None, missing_points=None)


def _replace_metric_keys(node: _T, keys: Mapping[str, str]) -> _T:
    """Return a part of a program with replaced metric keys; the same object if nothing changes."""
    changed: object = node
    if isinstance(node, tuple):
        parts = tuple(_replace_metric_keys(each, keys) for each in node)
        if any(a is not b for a, b in zip(parts, node, strict=True)):
            changed = parts
    elif isinstance(node, checked_expr.MetricRef):
        changed = dataclasses.replace(node, metric=keys.get(node.metric, node.metric))
    elif dataclasses.is_dataclass(node) and not isinstance(node, (type, source.Span)):
        fields = {each.name: getattr(node, each.name) for each in dataclasses.fields(node)}
        new = {name: _replace_metric_keys(value, keys) for name, value in fields.items()}
        if isinstance(node, checked.CheckedMetric):
            new["key"] = keys.get(node.key, node.key)
        if any(new[name] is not fields[name] for name in fields):
            changed = dataclasses.replace(node, **new)
    return cast("_T", changed)
