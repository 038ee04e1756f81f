"""The meaning of a policy: the input of the compiler.

Params and lets are substituted, names refer to their definitions, omitted clauses have their
defaults, numbers are in the canonical scale of `policysched.units` (bytes, milli-cores, seconds,
ratios 0..1), and label operators are the six of Kubernetes. At run time, evaluation can fail only
because data is missing; `on_missing` and `missing_points` define the result in this case. Selectors
are in `checked_selector`, expressions in `checked_expr`.

The tuples below are in text order, for display; their order has no other meaning.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal, TypeAlias

from policysched import units
from policysched.lang import source
from policysched.lang.checked import activation, checked_cluster, checked_expr, checked_selector
from policysched.lang.words import profile_names


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedCost:
    """The expected effect of a recently placed pod on the metric of its node, for a limited time.

    Attributes:
        value: in canonical scale; reads only the pod and properties of the node that do not change
            when the pod is placed.
        seconds: time after scheduling during which the value is added.
    """

    value: checked_expr.TypedExpr
    seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedMetric:
    """A metric: one PromQL query whose answer has one sample for each node.

    Attributes:
        key: unique in the program: the name, or `name@hash` if the params of a profile change the
            metric; metrics with the same key have the same query.
        name: the declared name.
        unit: unit of the value; `cores` are whole cores, as the query returns them.
        promql: the query with params substituted.
        target: `node`, or `cluster` for cluster policies.
        label: label in the query's result whose value identifies the node (or cluster).
        refresh_seconds: time between two queries.
        max_age_seconds: samples count as missing if their measurement is older than this.
        missing_action: what `reject` does with a node without a sample, unless the rule has its own
            `missing` clause.
        missing_points: the points from `score` for a node without a sample, unless the rule has its
            own `missing` clause.
        source_name: name of the source; None for the default source.
        low: values below it count as missing; in the scale of the query. None for no bound.
        high: values above it count as missing; in the scale of the query. None for no bound.
        window: aggregates several samples into the value, unless the rule has its own `over`
            clause. None to use the newest sample.
        placed: the load that recently placed pods add to the value.
        fallback: replaces a missing value, in canonical scale. The checker has already inserted it
            into every expression that reads the metric.
        span: range of the name in the declaration.
    """

    key: str
    name: str
    unit: units.Unit
    promql: str
    target: Literal["node", "cluster"]
    label: str
    refresh_seconds: float
    max_age_seconds: float
    missing_action: Literal["allow", "reject"] | None
    missing_points: int | None
    span: source.Span = dataclasses.field(compare=False, repr=False)
    source_name: str | None = None
    low: float | None = None
    high: float | None = None
    window: checked_expr.MetricWindow | None = None
    placed: PlacedCost | None = None
    fallback: checked_expr.TypedExpr | None = None


# ---------------------------------------------------------------------------- rules


OTHERWISE = ".otherwise"


@dataclasses.dataclass(frozen=True, slots=True)
class RuleHead:
    """The attributes that all kinds of rules share.

    Attributes:
        name: stable display name, unique in the program: `policy/name` if `as` names the rule,
            otherwise `policy/KIND@hash` with a hash of the rule's canonical text. The rule for the
            weight outside the times of `during` has the same name with `OTHERWISE`.
        policy: name of the policy.
        kind: the keyword with which the rule starts: nodeAffinity, podAffinity, podAntiAffinity,
            topologySpread, tolerate, reject, score, preempt, protect, clusterAffinity.
        given_name: the name from `as`, or None.
        text: canonical text on one line, for explanations.
        message: the user's message for a node that the rule rejects, or None.
        active: the times at which the rule is active (`during`, `expires`); None for always.
        span: range of the whole statement.
        forbids_preemption: whether no pod may be evicted from a node that the rule rejects
            (`preemption never`).
    """

    name: str
    policy: str
    kind: str
    given_name: str | None
    text: str
    message: str | None
    active: activation.RuleActivation | None
    span: source.Span = dataclasses.field(compare=False, repr=False)
    forbids_preemption: bool = False

    @property
    def statement_name(self) -> str:
        """The name by which `disable` turns off all rules of the statement."""
        return self.name.removesuffix(OTHERWISE)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeAffinityRule:
    """Requires matching nodes, or prefers them with 100 points instead of 0.

    Attributes:
        weight: 1..100 for preferred; None makes the rule required.
    """

    head: RuleHead
    selector: checked_selector.Selector
    weight: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class PodAffinityRule:
    """Requires or prefers nodes near the pods of a set, or away from them if `anti`.

    Required terms are ANDed, as in Kubernetes, and a required anti-affinity term also repels later
    pods. For preferred terms, the raw score is the number of matching pods in the node's domain,
    normalised by minimum and maximum over the feasible nodes. If all raw scores are equal, the
    points are 0. `anti` reverses the points.

    Attributes:
        weight: 1..100 for preferred; None makes the rule required.
        on_missing: for a required affinity, what happens to a pod that lacks a value with which
            labels of counted pods are compared: `allow` (the rule does not act on the pod) or
            `reject`. None if no value can be missing.
    """

    head: RuleHead
    anti: bool
    pods: checked_selector.PodSelection
    topology_key: str
    weight: int | None
    on_missing: Literal["allow", "reject"] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class TopologySpreadRule:
    """A topology spread constraint; the fields mean the same as in Kubernetes.

    Attributes:
        min_domains: by default 1.
        when_unsatisfiable: DoNotSchedule filters nodes, ScheduleAnyway scores them.
        weight: 1..100 for ScheduleAnyway, otherwise None.
    """

    head: RuleHead
    pods: checked_selector.PodSelection
    topology_key: str
    max_skew: int
    min_domains: int
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    node_affinity_policy: Literal["Honor", "Ignore"]
    node_taints_policy: Literal["Honor", "Ignore"]
    weight: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class TolerationRule:
    """Adds tolerations with the effects NoSchedule or PreferNoSchedule to the pod's own."""

    head: RuleHead
    patterns: tuple[checked_selector.TaintPattern, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class RejectRule:
    """Rejects the nodes on which the condition holds.

    Attributes:
        on_missing: the result if missing data leaves the condition undecided: false for `allow`,
            true for `reject`. None if no data can be missing.
        until: the condition under which a rejected node is accepted again (hysteresis), or None.
            With `until`, both conditions read a metric, and neither reads the incoming pod.
    """

    head: RuleHead
    condition: checked_expr.TypedExpr
    on_missing: Literal["allow", "reject"] | None
    until: checked_expr.TypedExpr | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class LinearNormalization:
    """Linear points: 0 at `low`, 100 at `high` (reversed for `prefer low`), clamped outside."""

    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class MinMaxNormalization:
    """Linear points between the smallest and the largest value of the feasible nodes.

    With span = max(largest - smallest, floor), the points are 100 (v - smallest) / span for `prefer
    high` and 100 (largest - v) / span for `prefer low`. If span is 0, all points are 0.
    """

    floor: float


@dataclasses.dataclass(frozen=True, slots=True)
class RankNormalization:
    """Points by rank among the distinct values: even steps from 0 to 100; a single value gets 0."""


@dataclasses.dataclass(frozen=True, slots=True)
class MaxNormalization:
    """Points relative to the largest value of the feasible nodes.

    The points are 100 v / largest for `prefer high`, and 100 minus this for `prefer low`. Negative
    values count as 0. If the largest value is 0, all points are 0.
    """


@dataclasses.dataclass(frozen=True, slots=True)
class ShapeNormalization:
    """Points by linear interpolation between (value, points) pairs, constant outside them.

    The shape itself defines the direction, so the rule has no `prefer`.

    Attributes:
        points: strictly increasing values, each with points 0..100.
    """

    points: tuple[tuple[float, int], ...]


Normalization: TypeAlias = (
    LinearNormalization
    | MinMaxNormalization
    | RankNormalization
    | MaxNormalization
    | ShapeNormalization
)


@dataclasses.dataclass(frozen=True, slots=True)
class ExpressionScoreRule:
    """Points from a number, or from a condition: 100 if true, 0 if false.

    Attributes:
        value: a number or a condition; a number that is not finite counts as missing.
        prefer: None for ShapeNormalization and for conditions.
        normalization: how numbers become points; None for conditions.
        missing_points: final points 0..100 of nodes without a value. None if no value can be
            missing; nodes whose number is not finite then get 0.
        weight: 1..100.
    """

    head: RuleHead
    value: checked_expr.TypedExpr
    prefer: Literal["low", "high"] | None
    normalization: Normalization | None
    missing_points: int | None
    weight: int


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceScoreRule:
    """A scoring strategy of NodeResourcesFit as a score of its own, independent of that plugin.

    Attributes:
        resources: (resource, weight) pairs; weights 1..100 apply within the strategy.
        shape: for RequestedToCapacityRatio, (utilization 0..100, points 0..100) in increasing
            order.
        weight: weight of this score in the total, 1..100.
    """

    head: RuleHead
    strategy: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
    resources: tuple[tuple[str, int], ...]
    shape: tuple[tuple[int, int], ...]
    weight: int


@dataclasses.dataclass(frozen=True, slots=True)
class PreemptRule:
    """Restricts the pods that a pod may evict by preemption.

    Attributes:
        victims: the pods that may be evicted; None for no pod.
        on_missing: what happens to a pod that lacks a value with which labels of victims are
            compared: `allow` (the rule does not act on the pod) or `reject` (it may evict no pod).
            None if no value can be missing.
    """

    head: RuleHead
    victims: checked_selector.PodSelection | None
    on_missing: Literal["allow", "reject"] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ProtectRule:
    """Protects the pods that the policy selects from preemption by pods of any profile."""

    head: RuleHead


Rule: TypeAlias = (
    NodeAffinityRule
    | PodAffinityRule
    | TopologySpreadRule
    | TolerationRule
    | RejectRule
    | ExpressionScoreRule
    | ResourceScoreRule
    | PreemptRule
    | ProtectRule
)


UnweightedRule: TypeAlias = TolerationRule | RejectRule | PreemptRule | ProtectRule
"""Rules that can have no weight."""


@dataclasses.dataclass(frozen=True, slots=True)
class DisabledRule:
    """`disable policy.rule`: turns the rule off for pods that the disabling policy selects.

    Attributes:
        policy: name of the policy that contains the rule.
        rule: `RuleHead.statement_name` of the rule.
    """

    policy: str
    rule: str
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedPolicy:
    """One policy or cluster policy.

    Attributes:
        mode: `enforce`, or `shadow` to evaluate the policy without any effect on decisions.
        scope: the pods or resources to which the policy applies.
        span: range of the name in the declaration.
        clusters: the statements of a clusterPolicy other than rules; None for a policy about pods
            and nodes.
        is_of_all_profiles: whether it says `profiles all`.
    """

    name: str
    mode: Literal["enforce", "shadow"]
    description: str
    owner: str
    scope: checked_selector.PolicyPodScope
    rules: tuple[Rule, ...]
    disables: tuple[DisabledRule, ...]
    span: source.Span = dataclasses.field(compare=False, repr=False)
    clusters: checked_cluster.ClusterPlacement | None = None
    is_of_all_profiles: bool = dataclasses.field(default=False, compare=False)


# ---------------------------------------------------------------------------- profiles


JsonValue: TypeAlias = (
    "bool | int | float | str | tuple[JsonValue, ...] | Mapping[str, JsonValue] | None"
)


@dataclasses.dataclass(frozen=True, slots=True)
class PluginSetting:
    """`plugin NAME weight N args {…}` of a profile.

    Attributes:
        weight: 1..100; None for the plugin's default.
        args: arguments with the structure of the plugin's YAML; None if not given.
    """

    name: str
    weight: int | None
    args: Mapping[str, JsonValue] | None
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedProfile:
    """The policies and plugins that schedule the pods of one scheduler name.

    Attributes:
        name: the schedulerName; None for the implied profile of a text without profiles.
        policies: resolved with the params of this profile, so they can differ between profiles.
        metrics: the metrics that the policies read.
        plugins: settings of built-in and third-party plugins; they also enable a plugin that is
            off by default.
        disabled: plugins that are off at every extension point.
        disabled_scores: plugins that are off for scoring only.
        disable_all_scores: whether all built-in scores are off, except for `plugins` with a weight.
        builtin_weight: factor 1..100 for the weight of every built-in score.
        on_outage: `skip` ignores a rule whose metric has no valid sample on any node; `hold` keeps
            the pods of the rule pending.
        params: all params with their values in this profile.
        span: range of the name in the declaration; None for the implied profile.
        cluster_policies: clusterPolicies, for the scheduler of a Karmada control plane.
        cluster_metrics: the metrics that the clusterPolicies read.
        excluded: the policies of all profiles that it excludes.
    """

    name: str | None
    policies: tuple[CheckedPolicy, ...]
    metrics: tuple[CheckedMetric, ...]
    plugins: tuple[PluginSetting, ...]
    disabled: tuple[str, ...]
    disabled_scores: tuple[str, ...]
    disable_all_scores: bool
    builtin_weight: int
    on_outage: Literal["skip", "hold"]
    params: tuple[CheckedParam, ...]
    span: source.Span | None = dataclasses.field(compare=False, repr=False)
    cluster_policies: tuple[CheckedPolicy, ...] = ()
    cluster_metrics: tuple[CheckedMetric, ...] = ()
    excluded: tuple[str, ...] = dataclasses.field(default=(), compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedParam:
    """A param with its value.

    Attributes:
        type: the declared type (`duration`, `string`, `strings`, or a unit).
        unit: unit of `value`; None for strings.
        value: canonical number, or the string.
        promql: the value in PromQL notation, for insertion into queries; strings are escaped.
        texts: the strings of a `string` or `strings`, otherwise none.
    """

    name: str
    type: str
    unit: units.Unit | None
    value: float | str
    promql: str
    span: source.Span = dataclasses.field(compare=False, repr=False)
    texts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedProgram:
    """All policy texts that were checked together, ready for the compiler.

    Attributes:
        params: all params with their values outside profiles.
        metrics: every declared metric, resolved with `params`.
        policies: every policy, resolved with `params`; a policy in no profile has no effect.
        profiles: at least one profile.
        content_hash: 12 hex digits; identifies the texts and the given params.
        cluster_policies: every clusterPolicy, resolved with `params`.
    """

    params: tuple[CheckedParam, ...]
    metrics: tuple[CheckedMetric, ...]
    policies: tuple[CheckedPolicy, ...]
    profiles: tuple[CheckedProfile, ...]
    content_hash: str
    cluster_policies: tuple[CheckedPolicy, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Sorted names of the sources that metrics use, without the default source."""
        read = [*self.metrics, *(metric for each in self.profiles for metric in each.metrics)]
        return tuple(sorted({m.source_name for m in read if m.source_name is not None}))

    @property
    def decides_all_pods(self) -> bool:
        """Whether a profile also schedules pods whose schedulerName matches no profile."""
        names = [each.name for each in self.profiles]
        return None in names or profile_names.find_fallback_profile(names) is not None
