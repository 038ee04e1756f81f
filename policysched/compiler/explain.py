"""The plan of compiled policies as text: what runs for each rule, and what it reads.

web/too-hot  (web.policy:12)
  reject when cpu_busy > 80% missing allow
  filter · reads node, all nodes, metrics
    compare >
      metric cpu_busy, samples of the last 120 s
      0.8
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import assert_never

from policysched.cluster.objects import node_texts
from policysched.compiler import compiler, evidence
from policysched.compiler.metrics import readings
from policysched.compiler.nodes import node_masks
from policysched.compiler.rules import (
    base,
    node_affinity,
    pod_affinity,
    reject,
    score,
    topology_spread,
)
from policysched.framework import interface
from policysched.lang.checked import checked_expr

_INDENT = "  "


def plan(compiled: compiler.CompiledPolicies) -> Iterator[str]:
    """Yield the lines of the plan, rule by rule in the order in which they run."""
    for rule in compiled.plugins:
        if isinstance(rule, base.PolicyRule):
            yield from _rule(rule)


def _rule(rule: base.PolicyRule) -> Iterator[str]:
    yield f"{rule.head.name}  ({rule.head.span.file}:{rule.head.span.line})"
    yield _INDENT + rule.head.text
    role = f"score · weight {rule.weight}" if isinstance(rule, base.ScoreRule) else "filter"
    yield f"{_INDENT}{role} · reads {reads(rule)}"
    for line in _body(rule):
        yield 2 * _INDENT + line


def reads(rule: base.PolicyRule) -> str:
    """Return what the answers of a rule depend on, in words."""
    flags: interface.Reads = getattr(rule, "reads", interface.Reads.ANYTHING)
    if interface.Reads.ANYTHING in flags:
        return "more than the node: asked for every pod"
    if interface.Reads.PODS in flags:
        return "node, pods on all nodes"
    return ", ".join((flag.name or "").lower().replace("_", " ") for flag in flags)


def _body(rule: base.PolicyRule) -> Iterator[str]:
    match rule:
        case reject.Reject():
            yield from _Plan(rule.told).describe(rule.condition.source)
        case node_affinity.RequiredNodeAffinity() | node_affinity.PreferredNodeAffinity():
            yield "node matches"
            yield from (_INDENT + line for line in _mask(rule.mask))
        case score.ConditionScore() | score.NumberScore():
            yield from _Plan(rule.told).describe(rule.value)
        case topology_spread.HardSpread() | topology_spread.SoftSpread():
            yield f"pods by {rule.spread.topology_key} on eligible nodes"
        case pod_affinity.RepellingPods():
            yield f"pods by {rule.topology_key} that carry this term"
        case (
            pod_affinity.RequiredPodAffinity()
            | pod_affinity.RequiredPodAntiAffinity()
            | pod_affinity.PreferredPodAffinity()
        ):
            yield f"pods by {rule.term.topology_key}"
        case _:
            pass


class _Plan:
    """Describes an expression of one rule."""

    def __init__(self, told: evidence.RuleEvidence | None) -> None:
        readers = told.metrics if told is not None else ()
        self._readers = {(each.metric.key, each.samples.window): each for each in readers}

    def describe(self, expr: checked_expr.TypedExpr) -> Iterator[str]:
        """Yield the lines of an expression, its operands below it."""
        yield _name(expr)
        match expr:
            case checked_expr.MetricRef(metric=key, window=window):
                below = _samples(self._readers[key, window])
            case checked_expr.NodeMatch(selector=selector):
                below = _mask(node_masks.lower(selector))
            case _:
                operands = checked_expr.list_operands(expr)
                below = itertools.chain.from_iterable(map(self.describe, operands))
        yield from (_INDENT + line for line in below)


def _name(expr: checked_expr.TypedExpr) -> str:
    match expr:
        case checked_expr.ArithmeticOperation(operator=operator):
            return operator
        case checked_expr.NumberFunctionCall(function=function):
            return function
        case checked_expr.ValueWithFallback():
            return "else"
        case checked_expr.Compare(comparator=comparator):
            return f"compare {comparator}"
        case checked_expr.NodeMatch() | checked_expr.PodMatch():
            return "node matches" if isinstance(expr, checked_expr.NodeMatch) else "pod matches"
        case checked_expr.NodeLabelIsPodValue(key=key, value=value):
            return f"label {key} = pod {value.text}"
        case checked_expr.And() | checked_expr.Or() | checked_expr.Not():
            return type(expr).__name__.lower()
        case _:
            return _leaf_name(expr)


def _leaf_name(
    expr: checked_expr.Const
    | checked_expr.MetricRef
    | checked_expr.NodeResource
    | checked_expr.PodRequests
    | checked_expr.PodLimits
    | checked_expr.PodPriority
    | checked_expr.ElapsedTime
    | checked_expr.NodeLabelNumber
    | checked_expr.DeviceNumber
    | checked_expr.PlacedPodCount,
) -> str:
    match expr:
        case checked_expr.Const(value=value):
            return f"{value:g}"
        case checked_expr.MetricRef(metric=key):
            return f"metric {key}"
        case (
            checked_expr.NodeResource(kind=kind, resource=name)
            | checked_expr.DeviceNumber(kind=kind, name=name)
        ):
            return f"{kind} {name}"
        case checked_expr.PodRequests(resource=resource):
            return f"requests {resource}"
        case checked_expr.PodLimits(resource=resource):
            return f"limits {resource}"
        case checked_expr.PodPriority():
            return "priority"
        case checked_expr.ElapsedTime(kind=kind):
            return kind
        case checked_expr.NodeLabelNumber(key=key):
            return f"{expr.of} {key} as a number"
        case checked_expr.PlacedPodCount(text=text):
            return text
        case _:
            assert_never(expr)


def _samples(reader: readings.MetricReader) -> Iterator[str]:
    window = reader.samples.window
    if window is not None:
        share = "" if window.quantile is None else f"({window.quantile:g})"
        yield f"{window.function}{share} over {window.seconds:g} s up to the newest sample"
    yield f"samples of the last {reader.metric.max_age_seconds:g} s"
    if reader.added is not None:
        yield f"and what pods add that were placed in the last {reader.added.seconds:g} s"


def _mask(mask: node_masks.NodeMask) -> Iterator[str]:
    match mask:
        case node_masks.LabelMask(requirement=requirement):
            yield f"{node_texts.describe_key(requirement.key)} {requirement.test}"
        case node_masks.NameMask(names=names):
            yield f"name in ({', '.join(names)})"
        case node_masks.TaintMask(pattern=pattern):
            value = f" {pattern.value}" if pattern.value else ""
            yield f"taint {pattern.key} {pattern.operator}{value}: {', '.join(pattern.effects)}"
        case node_masks.AllMasks(operands=operands):
            yield "all of" if operands else "every node"
            yield from (_INDENT + line for operand in operands for line in _mask(operand))
        case node_masks.AnyMask(operands=operands):
            yield "any of"
            yield from (_INDENT + line for operand in operands for line in _mask(operand))
        case node_masks.NotMask(operand=operand):
            yield "not"
            yield from (_INDENT + line for line in _mask(operand))
        case _:
            yield type(mask).__name__
