"""Finds the smallest changes after which no current winner of a pod is among the best nodes.

For each change, the engine makes two decisions: one with the change, and one with a change that is
one step smaller, which must not flip the winner.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from policysched import amounts, units
from policysched.cluster.columns import columns
from policysched.compiler.metrics import readings
from policysched.explaining import trials
from policysched.explaining.numbers import amounts_text, step_search
from policysched.framework.scoring import score_table
from policysched.offline import metric_evidence

MAX_WEIGHT = 100
"""The largest weight of rules and plugins that the policy language accepts."""
_MOST_WEIGHTS = 3
_MOST_STEPS = 100_000
_REQUEST_STEPS = (("cpu", 10), ("memory", 16 * 1024 * 1024))
"""Pairs of a resource and its step in milli-CPU or bytes."""


@dataclasses.dataclass(frozen=True, slots=True)
class WinnerFlip:
    """A change that makes other nodes win.

    Attributes:
        kind: `weight`, `metric` or `requests`.
        what: the score name, the name of the metric or the resource.
        node: the node whose value changes; None for weights.
        before, after: weights, metric values in the scale of the query, milli-CPU or bytes.
        winners: the nodes that would be best.
        text: a description of the whole change for users.
        size: the change relative to a reference value; smaller changes are listed first.
    """

    kind: str
    what: str
    node: str | None
    before: float
    after: float
    winners: tuple[str, ...]
    text: str
    size: float

    def as_json(self) -> dict[str, Any]:
        """Return the flip as JSON in the form of schemas/explain.schema.json."""
        return {
            "kind": self.kind,
            "what": self.what,
            "node": self.node,
            "from": self.before,
            "to": self.after,
            "winners": list(self.winners),
            "text": self.text,
        }


class FlipFinder:
    """Searches for changes that flip the winner of one pod."""

    def __init__(
        self, tried: trials.PodTrials, scores: score_table.ScoreTable, runner_up: str | None
    ) -> None:
        """Start with the current points; `scores` must contain details.

        Values are changed on the winner and on `runner_up`, which is None if all nodes are equal.
        """
        self._trials = tried
        self._scores = scores
        names = tried.take_snapshot().nodes.names
        self._best = frozenset(names[row] for row in scores.best_rows().tolist())
        self._runner_up = runner_up

    def find_flips(self) -> list[WinnerFlip]:
        """Return the changes that flip the winner, the smallest first; none without a runner-up."""
        if self._runner_up is None:
            return []
        found = [
            *self._find_weight_flips(),
            *self._find_metric_flips(),
            *self._find_request_flips(),
        ]
        return sorted(found, key=lambda flip: (flip.size, flip.text))

    def _find_new_winners(self, best: frozenset[str]) -> tuple[str, ...]:
        """Return the new winners; none unless every old winner has lost."""
        return () if best & self._best else tuple(sorted(best))

    # --- weights ---------------------------------------------------------------------------------

    def _find_weight_flips(self) -> Iterator[WinnerFlip]:
        """Yield the smallest weight changes that flip the winner, at most `_MOST_WEIGHTS`.

        They are computed, because totals are linear in the weights, and then confirmed by trials.
        """
        weights = self._trials.framework.profile.weights
        changes = [
            (change, name)
            for name, detail in self._scores.details.items()
            for change in compute_flipping_weight_changes(
                self._scores.totals, detail, weights[name]
            )
        ]
        flipping = 0
        for change, name in sorted(changes, key=lambda each: (abs(each[0]), each)):
            if flipping == _MOST_WEIGHTS or self._trials.is_limit_reached:
                return
            flip = self._try_weight_change(name, weights[name], change)
            if flip is not None:
                flipping += 1
                yield flip

    def _try_weight_change(self, name: str, before: int, change: int) -> WinnerFlip | None:
        """Return the flip; None if the change does not flip the winner or a smaller change does."""
        after = before + change
        winners = self._find_new_winners(self._find_best_nodes_by_weight(name, after))
        nearer = after - (1 if change > 0 else -1)
        if not winners or (
            nearer != before
            and self._find_new_winners(self._find_best_nodes_by_weight(name, nearer))
        ):
            return None  # the computed change is only a proposal
        text = f"weight of {name} from {before} to {after}"
        return WinnerFlip(
            "weight", name, None, before, after, winners, text, abs(change) / MAX_WEIGHT
        )

    def _find_best_nodes_by_weight(self, name: str, weight: int) -> frozenset[str]:
        return self._trials.find_best_nodes(
            self._trials.make_framework_with_weights({name: weight})
        )

    # --- values ----------------------------------------------------------------------------------

    def _select_nodes_to_change(self) -> Iterator[tuple[str, bool]]:
        """Yield the nodes whose values are changed, and whether each of them is the winner.

        The winner is included only if no other node has equally many points.
        """
        if len(self._best) == 1:
            yield from ((name, True) for name in self._best)
        if self._runner_up is not None:
            yield self._runner_up, False

    def _find_metric_flips(self) -> Iterator[WinnerFlip]:
        """Yield the smallest changes to each metric on each node that flip the winner."""
        for reader in self._collect_metric_readers():
            for node, _ in self._select_nodes_to_change():
                steps = _MetricValueGrid.from_reader(reader, self._trials, node)
                if steps is None:
                    continue
                for sign in (-1, 1):
                    flip = self._try_metric_change(steps, sign)
                    if flip is not None:
                        yield flip

    def _collect_metric_readers(self) -> list[readings.MetricReader]:
        """Return the metric readers for the pod, except for hysteresis, which keeps state."""
        snap = self._trials.take_snapshot()
        plugins = self._trials.framework.profile.plugins
        found = metric_evidence.PodMetricEvidence(
            plugins, self._trials.info.shape, snap
        ).list_metric_readers()
        needs = self._trials.decider.profiles.metric_needs
        followed = {metric for each in needs.followers for metric in each.metrics}
        by_key = {each.metric.key: each for each in found if each.metric.key not in followed}
        return list(by_key.values())

    def _try_metric_change(self, steps: _MetricValueGrid, sign: int) -> WinnerFlip | None:
        """Return the flip after the fewest steps in the direction `sign`; None if no step flips."""

        def flips(count: int) -> bool:
            return not self._trials.is_limit_reached and bool(
                self._find_new_winners(best(steps.compute_value(sign, count)))
            )

        def best(value: float) -> frozenset[str]:
            with self._trials.suppose_sample(steps.key, steps.node, value):
                return self._trials.find_best_nodes()

        count = step_search.find_fewest_steps(flips, steps.count_steps_to_bound(sign))
        if count is None or self._trials.is_limit_reached:
            return None
        after = steps.compute_value(sign, count)
        winners = self._find_new_winners(best(after))
        if not winners:
            return None
        shown = (
            amounts_text.format_exact_amount(value, steps.unit) for value in (steps.before, after)
        )
        text = f"{steps.name} on {steps.node} from {' to '.join(shown)}"
        size = abs(after - steps.before) / steps.relative_change_denominator
        return WinnerFlip(
            "metric", steps.name, steps.node, steps.before, after, winners, text, size
        )

    def _find_request_flips(self) -> Iterator[WinnerFlip]:
        for resource, step in _REQUEST_STEPS:
            for node, is_winner in self._select_nodes_to_change():
                flip = self._try_request_change(resource, step, node, sign=1 if is_winner else -1)
                if flip is not None:
                    yield flip

    def _try_request_change(
        self, resource: str, step: int, node: str, *, sign: int
    ) -> WinnerFlip | None:
        """Return the flip after the smallest change to the requests on a node, or None."""
        nodes = self._trials.decider.cluster.cache.nodes
        row, column = nodes.row_of[node], nodes.get_resource_column_index(resource)
        before = int(nodes.requested[row, column])
        room = before if sign < 0 else int(nodes.allocatable[row, column]) - before

        def best(count: int) -> frozenset[str]:
            with self._trials.suppose_requests(node, resource, sign * step * count):
                return self._trials.find_best_nodes()

        def flips(count: int) -> bool:
            return not self._trials.is_limit_reached and bool(self._find_new_winners(best(count)))

        count = step_search.find_fewest_steps(flips, max(0, room // step))
        winners = () if count is None else self._find_new_winners(best(count))
        if count is None or not winners or self._trials.is_limit_reached:
            return None
        change, after = count * step, before + sign * step * count
        amount = amounts.format_quantity(resource, change)
        text = f"{amount} of {resource} {'more' if sign > 0 else 'less'} requested on {node}"
        size = change / max(1, int(nodes.allocatable[row, column]))
        return WinnerFlip("requests", resource, node, before, after, winners, text, size)


@dataclasses.dataclass(frozen=True, slots=True)
class _MetricValueGrid:
    """A grid of metric values with few digits on one node."""

    key: str
    name: str
    unit: units.Unit
    node: str
    before: float
    step: float
    low: float
    high: float

    @classmethod
    def from_reader(
        cls, reader: readings.MetricReader, tried: trials.PodTrials, node: str
    ) -> _MetricValueGrid | None:
        """Return the steps from the current value on a node; None if it has no valid value."""
        snap = tried.take_snapshot()
        row = np.array([snap.nodes.row_of[node]], np.intp)
        found = reader.read(snap.view_rows(row))
        sample = snap.metrics.get_newest_samples(reader.metric.key).get(node)
        if not found.is_ok[0] or sample is None:
            return None
        metric = reader.metric
        whole = 1.0 if metric.unit.is_ratio else _round_up_to_power_of_ten(sample.value)
        low = metric.low if metric.low is not None else 0.0
        high = (
            metric.high
            if metric.high is not None
            else max(1.0, whole) * _get_metric_range_factor(metric.unit)
        )
        return cls(
            metric.key, reader.name, metric.unit, node, sample.value, whole / 1000, low, high
        )

    @property
    def relative_change_denominator(self) -> float:
        """The denominator of the relative size of a change."""
        return self.step * 1000

    def compute_value(self, sign: int, count: int) -> float:
        """Return the value on the grid that is `count` steps up or down."""
        # 1e-9 tolerates float errors of values on the grid.
        start = (
            math.floor(self.before / self.step + 1e-9)
            if sign > 0
            else math.ceil(self.before / self.step - 1e-9)
        )
        return float(f"{(start + sign * count) * self.step:.9g}")

    def count_steps_to_bound(self, sign: int) -> int:
        """Return the number of steps up to the bound in a direction, at most `_MOST_STEPS`."""
        room = self.high - self.before if sign > 0 else self.before - self.low
        return max(0, min(_MOST_STEPS, math.floor(room / self.step + 1e-9)))


def _round_up_to_power_of_ten(value: float) -> float:
    """Return the power of ten above a value, from which steps are derived; 1 for the value 0."""
    return 10.0 ** (math.floor(math.log10(abs(value))) + 1) if value else 1.0


def _get_metric_range_factor(unit: units.Unit) -> float:
    return 1.0 if unit.is_ratio else 10.0


def compute_flipping_weight_changes(
    totals: columns.IntArray, detail: score_table.Detail, weight: int
) -> list[int]:
    """Return the smallest increase and decrease of one weight that flip the winner.

    A node that is `gap` points behind the best nodes must gain more than `gap` on every best node.
    This gain is measured against the best node that gains most from the same change.

    Args:
        totals: int64 (f,), in hundredths of a point.
        detail: the scores of the plugin whose weight changes.
        weight: the current weight.

    Returns:
        At most two non-zero numbers that keep the weight in 1..MAX_WEIGHT.
    """
    hundredths = detail.final * (score_table.HUNDREDTHS // detail.units_per_point)
    top = totals.max()
    best, others = hundredths[totals == top], totals < top
    gaps, gains = top - totals[others], hundredths[others]
    found = []
    for sign, gained in ((1, gains - best.max()), (-1, best.min() - gains)):
        able = gained > 0
        if able.any():
            # The smallest integer for which the gain exceeds the gap; an equal gain would be a tie.
            change = int((gaps[able] // gained[able]).min()) + 1
            if 1 <= weight + sign * change <= max(MAX_WEIGHT, weight):
                found.append(sign * change)
    return found
