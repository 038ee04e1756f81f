"""Checked policies to plugins: the phases, in order."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Mapping, Sequence

from policysched.cluster import elapsed_time, metric_needs, snapshot
from policysched.cluster.pods import shape_projection
from policysched.compiler import (
    metric_parts,
    needs,
    preemption_limits,
    requeue,
    rule_changes,
    rule_plugins,
    shadow_policies,
    shared_parts,
)
from policysched.compiler.pods import pod_reads, scope
from policysched.compiler.rules import base, outage_hold, tolerate
from policysched.framework import interface, profile
from policysched.lang.checked import checked, elapsed_times, rule_parts


@dataclasses.dataclass(frozen=True, slots=True)
class CompiledShadow:
    """What a profile would be with one more policy in force.

    Attributes:
        policy: name of the shadow policy.
        concerns: which pods it has a say about.
        compiled: the policies of the profile and this one.
    """

    policy: str
    concerns: shadow_policies.Concern
    compiled: CompiledPolicies


@dataclasses.dataclass(frozen=True, slots=True)
class CompiledPolicies:
    """What policies add to the plugins of one profile.

    Attributes:
        name: the profile's schedulerName; None for the implied profile, and for one that no policy
            text names.
        plugins: to run behind all others, in this order.
        weights: of the scores among them, by `POLICY/RULE`.
        tolerations: a pod's own and those that policies add.
        preemption_limits: what policies forbid preemption; None if they say nothing about it.
        policy_hash: identifies the texts and params.
        policies: names of the policies in force.
        metrics: to be sampled for them.
        timetables: when rules begin and cease to act.
        shadows: what `mode shadow` asks to be decided beside.
        projection: what rules read of pods, of all profiles: pods repel those of others.
        time_bounds: times of pods and nodes at which answers change, those of shadow policies too.
    """

    name: str | None
    plugins: tuple[interface.Plugin, ...]
    weights: Mapping[str, int]
    tolerations: profile.TolerationsFn
    preemption_limits: preemption_limits.PolicyPreemptionLimits | None
    policy_hash: str
    policies: tuple[str, ...]
    metrics: tuple[checked.CheckedMetric, ...]
    timetables: tuple[scope.Timetable, ...]
    shadows: tuple[CompiledShadow, ...] = ()
    projection: shape_projection.PodFieldsRead | None = None
    time_bounds: elapsed_time.TimeBounds = elapsed_time.NO_BOUNDS

    def next_change(self, now: datetime.datetime) -> datetime.datetime | None:
        """Return when a rule next begins or ceases to act: pods it rejected deserve a retry."""
        changes = [timetable.next_change(now) for timetable in self.timetables]
        return min((change for change in changes if change is not None), default=None)


@dataclasses.dataclass(frozen=True, slots=True)
class CompiledProgram:
    """All profiles of the policy texts.

    Attributes:
        profiles: in the order of the text.
        others: for profiles that the texts do not name: placed pods repel their pods too.
        annotation_keys: what `cluster.pods.pod_shape.PodShapeCache` must know.
        metric_needs: what `cluster.cache.Cache.follow_metrics` must know.
        shadow_metric_parts: the metrics as what is decided beside reads them: parts of their own,
            so that nothing that is kept for real decisions depends on shadow policies.
        metric_parts: the metrics as rules in force read them.
    """

    profiles: tuple[CompiledPolicies, ...]
    others: CompiledPolicies
    annotation_keys: frozenset[str]
    metric_needs: metric_needs.MetricNeeds
    shadow_metric_parts: metric_parts.MetricParts
    metric_parts: metric_parts.MetricParts

    def next_metric_change(self, snap: snapshot.Snapshot) -> datetime.datetime | None:
        """Return when verdicts may next change by the age of samples and placed pods alone."""
        return needs.next_change(self.metric_parts, snap)


def compile_program(program: checked.CheckedProgram) -> CompiledProgram:
    """Compile every profile of a program; they share what is equal."""
    parts, shadow_parts = _parts(program), _parts(program)
    places: list[int | None] = [*range(len(program.profiles)), None]
    *profiles, others = (
        dataclasses.replace(
            _compile(None if place is None else program.profiles[place], program, parts),
            shadows=_shadows(program, place, shadow_parts),
        )
        for place in places
    )
    return CompiledProgram(
        profiles=tuple(profiles),
        others=others,
        annotation_keys=annotation_keys(program),
        metric_needs=needs.both(
            needs.of(parts.metrics, _plugins(profiles)),
            needs.of(shadow_parts.metrics, _plugins(_tried([*profiles, others]))),
        ),
        metric_parts=parts.metrics,
        shadow_metric_parts=shadow_parts.metrics,
    )


def _plugins(compiled: Iterable[CompiledPolicies]) -> list[interface.Plugin]:
    return [plugin for each in compiled for plugin in each.plugins]


def _tried(compiled: Iterable[CompiledPolicies]) -> list[CompiledPolicies]:
    return [shadow.compiled for each in compiled for shadow in each.shadows]


def _shadows(
    program: checked.CheckedProgram, place: int | None, parts: shared_parts.SharedParts
) -> tuple[CompiledShadow, ...]:
    return tuple(
        CompiledShadow(
            each.policy.name,
            shadow_policies.Concern(each.policy),
            _compile(each.profile, each.program, parts),
        )
        for each in shadow_policies.tried(program, place)
    )


def compile_profile(
    here: checked.CheckedProfile | None, program: checked.CheckedProgram
) -> CompiledPolicies:
    """Compile one profile of a program, None for a profile that the texts do not name."""
    return _compile(here, program, _parts(program))


def annotation_keys(program: checked.CheckedProgram) -> frozenset[str]:
    """Return the keys of the annotations that the policies of any profile read."""
    return pod_reads.annotation_keys(policy for p in program.profiles for policy in p.policies)


def _parts(program: checked.CheckedProgram) -> shared_parts.SharedParts:
    metrics = {metric.key: metric for p in program.profiles for metric in p.metrics}
    return shared_parts.SharedParts(metrics.values())


def _compile(
    here: checked.CheckedProfile | None,
    program: checked.CheckedProgram,
    parts: shared_parts.SharedParts,
) -> CompiledPolicies:
    placed = shared_parts.placed_rules(here) if here else []
    made, others = rule_plugins.RulePlugins(parts).make(placed)
    grants = [each for each in others if isinstance(each, tolerate.TolerateRule)]
    repelling = rule_plugins.repelling_pods(program.profiles, here, parts)
    scores = [each for each in made if isinstance(each, base.ScoreRule)]
    own_filters = [each for each in made if not isinstance(each, base.ScoreRule)]
    filters = rule_plugins.in_order([*own_filters, *repelling])
    hold = outage_hold.of(made) if here and here.on_outage == "hold" else None
    tolerations = tolerate.PolicyTolerations(grants) if grants else profile.own_tolerations
    return CompiledPolicies(
        name=here.name if here else None,
        plugins=(
            *((hold,) if hold else ()),
            *filters,
            requeue.PolicyEvents(filters, tolerations, hold),
            *scores,
        ),
        weights={each.score_name: each.weight for each in scores},
        tolerations=tolerations,
        preemption_limits=_preemption_limits(
            [
                *(each for each in others if not isinstance(each, tolerate.TolerateRule)),
                *rule_plugins.protecting_rules(program.profiles, here, parts),
            ],
            filters,
        ),
        policy_hash=program.content_hash,
        policies=tuple(p.name for p in here.policies if p.mode == "enforce") if here else (),
        metrics=here.metrics if here else (),
        timetables=_timetables((*filters, *scores, *others)),
        projection=pod_reads.projection(p for each in program.profiles for p in each.policies),
        time_bounds=_time_bounds(here.policies if here else ()),
    )


def _time_bounds(policies: Iterable[checked.CheckedPolicy]) -> elapsed_time.TimeBounds:
    exprs = [
        expr
        for policy in policies
        for rule in policy.rules
        for expr in rule_parts.list_rule_expressions(rule)
    ]
    return elapsed_time.TimeBounds(
        waiting=elapsed_times.list_time_bounds(exprs, "waiting"),
        pod_age=elapsed_times.list_time_bounds(exprs, "podAge"),
        node_age=elapsed_times.list_time_bounds(exprs, "nodeAge"),
    )


def _preemption_limits(
    rules: Sequence[preemption_limits.PreemptionRule],
    filters: Sequence[rule_changes.FilterRule],
) -> preemption_limits.PolicyPreemptionLimits | None:
    closing = [each for each in filters if each.head.forbids_preemption]
    if not rules and not closing:
        return None
    return preemption_limits.PolicyPreemptionLimits(rules, closing)


def _timetables(
    rules: Iterable[base.PolicyRule | rule_plugins.OtherRule],
) -> tuple[scope.Timetable, ...]:
    return tuple(rule.scope.timetable for rule in rules if rule.head.active is not None)
