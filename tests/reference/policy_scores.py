"""Scores of policies in hundredths of a point, rule by rule."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from policysched.cluster.objects import objects
from policysched.lang.checked import checked
from tests.reference import (
    policy_expressions,
    policy_filters,
    policy_pods,
    policy_selectors,
    single_node,
)

Points = dict[str, int]
"""Hundredths by node name."""


def scores(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    pod: objects.Pod,
    feasible: Sequence[objects.Node],
) -> dict[str, Points]:
    """Return what each rule that acts on the pod gives the feasible nodes."""
    found = {}
    for policy in profile.policies:
        for rule in policy.rules:
            if judge.acts_on(rule, policy, profile, pod):
                points = _points(judge, profile, policy, rule, pod, feasible)
                if points is not None:
                    found[rule.head.name] = points
    return found


def _points(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    policy: checked.CheckedPolicy,
    rule: checked.Rule,
    pod: objects.Pod,
    feasible: Sequence[objects.Node],
) -> Points | None:
    match rule:
        case checked.NodeAffinityRule(weight=int()):
            return {
                node.name: 10_000 * policy_selectors.node_matches(rule.selector, node)
                for node in feasible
            }
        case checked.PodAffinityRule(weight=int()):
            counts = {n.name: _matching_pods(judge, policy, rule, pod, n) for n in feasible}
            return min_max(counts, 0.0, prefer_low=rule.anti)
        case checked.TopologySpreadRule(weight=int()):
            return _soft_spread(judge, profile, policy, rule, pod, feasible)
        case checked.ExpressionScoreRule():
            return _score(judge, profile, rule, pod, feasible)
        case checked.ResourceScoreRule():
            shape = [(x, y // 10) for x, y in rule.shape]  # that one has points of 0 to 10
            return {
                node.name: 100
                * single_node.fit_score(
                    pod, node, judge.world, rule.strategy, rule.resources, shape
                )
                for node in feasible
            }
        case _:
            return None


def _matching_pods(
    judge: policy_pods.Judge,
    policy: checked.CheckedPolicy,
    rule: checked.PodAffinityRule,
    pod: objects.Pod,
    node: objects.Node,
) -> float:
    domain = node.metadata.labels.get(rule.topology_key)
    if domain is None:
        return 0.0
    return float(
        sum(
            judge.in_set(rule.pods, policy.scope, other, pod)
            for other, other_node in judge.world.placed()
            if other_node.metadata.labels.get(rule.topology_key) == domain
        )
    )


def _soft_spread(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    policy: checked.CheckedPolicy,
    rule: checked.TopologySpreadRule,
    pod: objects.Pod,
    feasible: Sequence[objects.Node],
) -> Points:
    counts = policy_filters.spread_counts(judge, profile, policy, rule, pod)
    known = {
        node.name: float(counts.get(node.metadata.labels[rule.topology_key], 0))
        for node in feasible
        if policy_filters.has_topology_keys(judge, profile, rule, pod, node)
    }
    return dict.fromkeys((node.name for node in feasible), 0) | min_max(known, 0.0, prefer_low=True)


def _score(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    rule: checked.ExpressionScoreRule,
    pod: objects.Pod,
    feasible: Sequence[objects.Node],
) -> Points:
    metrics = {metric.key: metric for metric in profile.metrics}
    names = [node.name for node in feasible]
    places = [policy_expressions.Place(pod, node, judge.world, metrics) for node in feasible]
    if policy_expressions.is_out(rule.value, places[0]):
        return dict.fromkeys(names, 0)
    missing = dict.fromkeys(names, 100 * (rule.missing_points or 0))
    if rule.normalization is None:
        held = [policy_expressions.condition(rule.value, place) for place in places]
        known = {n: 10_000 * h for n, h in zip(names, held, strict=True) if h is not None}
        return missing | known
    values = [policy_expressions.number(rule.value, place) for place in places]
    known_values = {n: v for n, v in zip(names, values, strict=True) if v is not None}
    return missing | normalized(rule.normalization, known_values, prefer_low=rule.prefer == "low")


def normalized(way: checked.Normalization, values: dict[str, float], *, prefer_low: bool) -> Points:
    """Return the points of numbers that are there."""
    match way:
        case checked.LinearNormalization(low=low, high=high):
            shares = {n: (v / 2 - low / 2) / (high / 2 - low / 2) for n, v in values.items()}
            points = {n: hundredths(min(max(s, 0.0), 1.0)) for n, s in shares.items()}
            return {n: 10_000 - p for n, p in points.items()} if prefer_low else points
        case checked.ShapeNormalization(points=corners):
            return {name: on_line(corners, value) for name, value in values.items()}
        case checked.MinMaxNormalization(floor=floor):
            return min_max(values, floor, prefer_low=prefer_low)
        case checked.RankNormalization():
            distinct = sorted(set(values.values()), reverse=prefer_low)
            last = len(distinct) - 1
            return {
                name: hundredths(distinct.index(value) / last) if last else 0
                for name, value in values.items()
            }
        case checked.MaxNormalization():
            largest = max([0.0, *values.values()])
            if largest == 0:
                return dict.fromkeys(values, 0)
            points = {n: hundredths(max(v, 0.0) / largest) for n, v in values.items()}
            return {n: 10_000 - p for n, p in points.items()} if prefer_low else points


def hundredths(share: float) -> int:
    """Return a share of 100 points in hundredths, halves to even."""
    return round(10_000 * share)


def min_max(values: dict[str, float], floor: float, *, prefer_low: bool) -> Points:
    """Return the position between the smallest and the largest value."""
    if not values:
        return {}
    smallest, largest = min(values.values()) / 2, max(values.values()) / 2
    span = max(largest - smallest, floor / 2)
    if span == 0:
        return dict.fromkeys(values, 0)
    return {
        name: hundredths((largest - value / 2 if prefer_low else value / 2 - smallest) / span)
        for name, value in values.items()
    }


def on_line(corners: Sequence[tuple[float, int]], value: float) -> int:
    """Return the points of a broken line, flat outside of its corners."""
    if value <= corners[0][0]:
        return 100 * corners[0][1]
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        if value < x1:
            span = x1 / 2 - x0 / 2
            share = (value / 2 - x0 / 2) / span if span else 0.0
            return hundredths((y0 + (y1 - y0) * share) / 100)
    return 100 * corners[-1][1]
