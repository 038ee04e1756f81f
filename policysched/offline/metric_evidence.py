"""Collects the metric evidence of the rules that act on a pod, for `explain`.

The form is defined in schemas/explain.schema.json: each metric appears once, in the scale of its
query, with the rules that read it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler import evidence
from policysched.compiler.metrics import readings
from policysched.compiler.rules import base, outage_hold, reject, score
from policysched.framework import cycle_state, interface, status

_KINDS = reject.Reject | score.ConditionScore | score.NumberScore


class PodMetricEvidence:
    """The metric evidence of the rules that apply to one pod."""

    def __init__(
        self,
        plugins: Iterable[interface.Plugin],
        shape: pod_shape.PodShape,
        snap: snapshot.Snapshot,
        *,
        measured: str = "node",
    ) -> None:
        """Select the rules among `plugins` that act on pods of `shape` now.

        `measured` names the kind of object that has samples: `node` or `cluster`.
        """
        self._measured = measured
        self._snap = snap
        state = cycle_state.CycleState()
        self._rules = [
            (plugin, plugin.told)
            for plugin in plugins
            if isinstance(plugin, _KINDS) and plugin.told is not None
            if plugin.scope.applies_to(state, shape, snap)
        ]
        self._by_ref = {base.rule_ref(rule.head): (rule, told) for rule, told in self._rules}

    def as_json(self) -> dict[str, object]:
        """Return the fields `rules` and `metrics`; an empty object if no rule reads metrics."""
        if not self._rules:
            return {}
        readers = {reader.name: reader for _, told in self._rules for reader in told.metrics}
        return {
            "rules": [self._render_rule_metrics(rule, told) for rule, told in self._rules],
            "metrics": {name: self._render_metric(reader) for name, reader in readers.items()},
        }

    def list_metric_readers(self) -> list[readings.MetricReader]:
        """Return the metric readers of all rules, one per rule and metric."""
        return [reader for _, told in self._rules for reader in told.metrics]

    def describe_rule_reading(self, ref: status.RuleRef | None, row: int) -> str | None:
        """Return the metric evidence of a rule that rejected a node; None if it reads no metric."""
        known = None if ref is None else self._by_ref.get(ref)
        if known is None:
            return None
        rule, told = known
        node = self._snap.view_rows(np.array([row], np.intp))
        return rule.measured_on(node) if isinstance(rule, reject.Reject) else told.on_node(node)

    def _render_rule_metrics(
        self, rule: outage_hold.MetricRule, told: evidence.RuleEvidence
    ) -> dict[str, object]:
        """Return a rule with the metrics that it reads and the outage that disables it, if any."""
        ref = base.rule_ref(rule.head)
        lost = rule.outage(self._snap)
        return {
            "policy": ref.policy,
            "rule": ref.rule,
            "line": ref.line,
            "kind": rule.head.kind,
            "metrics": [reader.name for reader in told.metrics],
            "outage": None if lost is None else evidence.outage(lost, self._snap, self._measured),
        }

    def _render_metric(self, reader: readings.MetricReader) -> dict[str, object]:
        """Return a metric with its reading on every node."""
        snap = self._snap
        found = reader.read(snap.view_all_rows())
        return {
            "unit": str(reader.metric.unit),
            "maxAgeSeconds": reader.metric.max_age_seconds,
            "nodes": {
                snap.nodes.names[row]: _render_reading(found, row)
                for row in np.flatnonzero(snap.is_alive).tolist()
            },
        }


def _render_reading(found: readings.Readings, row: int) -> dict[str, object]:
    """Return the state, value, age and added load of a metric on one node."""
    is_known = bool(found.is_known[row])
    return {
        "state": found.state(row).value,
        "value": float(found.values[row]) if found.is_ok[row] else None,
        "measured": float(found.measured[row]) if is_known else None,
        "ageSeconds": round(float(found.age_seconds[row]), 3) if is_known else None,
        "added": float(found.added[row]),
        "addedPods": int(found.added_pods[row]),
    }
