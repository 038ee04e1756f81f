"""The meaning of a policy: the input of the compiler.

Everything is resolved. Params and lets are substituted, names refer to their definitions, omitted
clauses have their defaults, numbers are in the canonical scale of `policysched.units` (bytes,
milli-cores, seconds, ratios 0..1), and label operators are the six of Kubernetes. The only thing
that can fail at run time is that data is missing; `on_missing` and `missing_points` decide then.
Selectors are in `checked_selector`, expressions in `checked_expr`.

The order of the tuples below has no meaning. It is the order of the text, for display.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Final, Literal, TypeAlias

from policysched import units
from policysched.lang import source
from policysched.lang.checked import activation, checked_cluster, checked_expr, checked_selector


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedCost:
    """The expected effect of a recently placed pod on the metric of its node, for a limited time.

    Attributes:
        value: in canonical scale; reads only the pod and facts of the node.
        seconds: how long the value is added after the pod was scheduled.
    """

    value: checked_expr.TypedExpr
    seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedMetric:
    """A metric: one PromQL query whose answer has one sample for each node.

    Attributes:
        key: unique in the program: the name, or `name@hash` if the params of a profile change the
            query; equal keys mean equal queries.
        name: as declared.
        unit: of the value; `cores` are whole cores, as the query returns them.
        promql: the query with params substituted.
        target: `node`, or `cluster` for cluster policies.
        label: label of the result that names the node (or cluster).
        refresh_seconds: time between two queries.
        max_age_seconds: samples older than this, by their own timestamp, count as missing.
        missing_action: the effect of a node without a sample in `reject`; a clause overrides it.
        missing_points: the points of a node without a sample in `score`; a clause overrides it.
        source_name: name of the source, None for the default one.
        low: values below count as missing, in the scale of the query; None for no bound.
        high: values above count as missing; None for no bound.
        window: the samples that are aggregated to the value; a clause overrides it. None for the
            newest sample.
        placed: the load that recently placed pods add to the value.
        fallback: replaces a missing value, in canonical scale. The checker has already inserted it
            wherever the metric is read.
        span: of the name in its declaration.
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


@dataclasses.dataclass(frozen=True, slots=True)
class RuleHead:
    """The attributes that all rules have.

    Attributes:
        name: stable display name, unique in the program: `policy/name` with the name given by `as`,
            else `policy/KIND@hash` with the hash of the rule's canonical text.
        policy: name of the policy.
        kind: the keyword with which the rule starts: nodeAffinity, podAffinity, podAntiAffinity,
            topologySpread, tolerate, reject, score, clusterAffinity.
        given_name: the name given by `as`, or None.
        text: canonical text on one line, for explanations.
        message: the message for a node that the rule rejects, or None.
        active: when the rule is active (`during`, `expires`); None for always.
        span: of the whole statement.
    """

    name: str
    policy: str
    kind: str
    given_name: str | None
    text: str
    message: str | None
    active: activation.RuleActivation | None
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeAffinityRule:
    """Nodes must match (required), or matching nodes get 100 points and others 0 (preferred).

    Attributes:
        weight: 1..100 for preferred; None makes the rule required.
    """

    head: RuleHead
    selector: checked_selector.Selector
    weight: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class PodAffinityRule:
    """The pod must or should be near the pods of a set, or not near them if `anti`.

    Required terms are ANDed, as in Kubernetes, and a required anti term also repels later pods.
    Preferred: the raw score is the number of matching pods in the node's domain, normalised by
    minimum and maximum over the feasible nodes. If all are equal, the points are 0. `anti` reverses
    the points.

    Attributes:
        weight: 1..100 for preferred; None makes the rule required.
    """

    head: RuleHead
    anti: bool
    pods: checked_selector.PodSelection
    topology_key: str
    weight: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class TopologySpreadRule:
    """A topology spread constraint; the fields have the meaning of Kubernetes.

    Attributes:
        min_domains: 1 if not given.
        when_unsatisfiable: DoNotSchedule filters, ScheduleAnyway scores.
        weight: 1..100 for ScheduleAnyway, else None.
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
    """Tolerations added to those of the pod; effects are NoSchedule or PreferNoSchedule."""

    head: RuleHead
    patterns: tuple[checked_selector.TaintPattern, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class RejectRule:
    """Rejects the nodes on which the condition holds.

    Attributes:
        on_missing: the value of a condition whose truth depends on missing data: false for `allow`,
            true for `reject`. None if no data can be missing.
        until: with hysteresis, the condition under which a rejected node is accepted again. Both
            conditions then read a metric, and neither reads the incoming pod.
    """

    head: RuleHead
    condition: checked_expr.TypedExpr
    on_missing: Literal["allow", "reject"] | None
    until: checked_expr.TypedExpr | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class LinearNormalization:
    """Points from 0 at `low` to 100 at `high` (`prefer low`: from 100 to 0), clamped outside."""

    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class MinMaxNormalization:
    """Points by position between the smallest and the largest value of the feasible nodes.

    With span = max(largest - smallest, floor), the points are 100 (v - smallest) / span for
    `prefer high` and 100 (largest - v) / span for `prefer low`. If span is 0, all are 0.
    """

    floor: float


@dataclasses.dataclass(frozen=True, slots=True)
class RankNormalization:
    """Points by rank among the distinct values: worst 0, best 100, even steps; one value: 0."""


@dataclasses.dataclass(frozen=True, slots=True)
class MaxNormalization:
    """100 v / largest (prefer low: 100 - that); negative values count as 0; largest 0: all 0."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShapeNormalization:
    """Points by linear interpolation between (value, points), constant outside.

    The shape itself contains the direction, so the rule has no `prefer`.

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
    """Points from a number, or 100 and 0 from a condition.

    Attributes:
        value: a number or a condition; a number that is not finite counts as missing.
        prefer: None for ShapeNormalization and for conditions (true is 100).
        normalization: over the feasible nodes of the pod; None for conditions.
        missing_points: final points 0..100 of nodes without a value. None if no value can be
            missing; a number that is not finite then gets 0.
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
    """A resource strategy of NodeResourcesFit as a separate score, independent of that plugin.

    Attributes:
        resources: (resource, weight), with the strategy's own weights 1..100.
        shape: for RequestedToCapacityRatio: (utilization 0..100, points 0..100), increasing.
        weight: 1..100, of this score in the total.
    """

    head: RuleHead
    strategy: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
    resources: tuple[tuple[str, int], ...]
    shape: tuple[tuple[int, int], ...]
    weight: int


Rule: TypeAlias = (
    NodeAffinityRule
    | PodAffinityRule
    | TopologySpreadRule
    | TolerationRule
    | RejectRule
    | ExpressionScoreRule
    | ResourceScoreRule
)


def list_expressions(rule: Rule) -> tuple[checked_expr.TypedExpr, ...]:
    """Return the conditions of a reject rule or the value of a score, () for other rules."""
    match rule:
        case RejectRule(condition=condition, until=until):
            return (condition,) if until is None else (condition, until)
        case ExpressionScoreRule(value=value):
            return (value,)
        case _:
            return ()


@dataclasses.dataclass(frozen=True, slots=True)
class DisabledRule:
    """`disable policy.rule`: the rule does not apply to pods that the disabling policy selects.

    Attributes:
        policy: name of the policy that contains the rule.
        rule: `RuleHead.name` of the rule.
    """

    policy: str
    rule: str
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedPolicy:
    """One policy or cluster policy.

    Attributes:
        mode: `enforce`, or `shadow` for a policy that is evaluated but decides nothing.
        scope: the pods or resources to which the policy applies.
        span: of the name in its declaration.
        clusters: the statements of a clusterPolicy other than rules; its rules are about clusters.
            None for a policy about pods and nodes.
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


# ---------------------------------------------------------------------------- profiles


JsonValue: TypeAlias = (
    "bool | int | float | str | tuple[JsonValue, ...] | Mapping[str, JsonValue] | None"
)


@dataclasses.dataclass(frozen=True, slots=True)
class PluginSetting:
    """`plugin NAME weight N args {…}` of a profile.

    Attributes:
        weight: 1..100, None for the plugin's default.
        args: arguments with the structure of the plugin's YAML, None if not given.
    """

    name: str
    weight: int | None
    args: Mapping[str, JsonValue] | None
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedProfile:
    """The policies and plugins that decide for one scheduler name.

    Attributes:
        name: the schedulerName; None for the single profile that is implied if the text declares
            none.
        policies: resolved with the params of this profile, so they may differ between profiles.
        metrics: the metrics that the policies read, by key.
        plugins: built-in or third-party plugins that are enabled, weighted or given arguments.
        disabled: plugins that are off at every extension point.
        disabled_scores: plugins with only their score off.
        disable_all_scores: all built-in scores are off, except those of `plugins` with a weight.
        builtin_weight: factor of the weight of every built-in score, 1..100.
        on_outage: `skip` ignores a rule whose metric has no valid sample on any node; `hold` keeps
            its pods pending.
        params: values in this profile.
        span: of the name, None for the implied profile.
        cluster_policies: its clusterPolicies, for the scheduler of a Karmada control plane.
        cluster_metrics: the metrics that the cluster policies read, by key.
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


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedParam:
    """A param with its value.

    Attributes:
        type: name of the type as declared (`duration`, `string`, or a unit).
        unit: None for strings.
        value: canonical number, or the string.
        promql: the value as it is written into a query: durations and numbers as they are, strings
            escaped.
    """

    name: str
    type: str
    unit: units.Unit | None
    value: float | str
    promql: str
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedProgram:
    """All policy texts that were checked together, ready for the compiler.

    Attributes:
        params: with their values outside of profiles.
        metrics: every declared metric, with those params.
        policies: every policy, with those params; a policy in no profile has no effect.
        profiles: at least one.
        content_hash: 12 hex digits over the texts and the given params; changes with any of them.
        cluster_policies: every clusterPolicy, with those params.
    """

    params: tuple[CheckedParam, ...]
    metrics: tuple[CheckedMetric, ...]
    policies: tuple[CheckedPolicy, ...]
    profiles: tuple[CheckedProfile, ...]
    content_hash: str
    cluster_policies: tuple[CheckedPolicy, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the metric sources that metrics use, sorted; the default source has no name."""
        read = [*self.metrics, *(metric for each in self.profiles for metric in each.metrics)]
        return tuple(sorted({m.source_name for m in read if m.source_name is not None}))

    @property
    def decides_all_pods(self) -> bool:
        """Whether some profile decides for pods whose schedulerName matches no profile."""
        names = [each.name for each in self.profiles]
        return None in names or find_fallback_profile(names) is not None


DEFAULT_SCHEDULER_NAME: Final = "policysched"
"""Name of the profile if neither a policy nor an option sets one."""


def find_fallback_profile(names: Collection[str | None]) -> str | None:
    """Return the name of the profile for pods whose schedulerName matches no profile, or None.

    It is the only profile, or among several the one with the default name.
    """
    if len(names) == 1:
        return next(iter(names))
    return DEFAULT_SCHEDULER_NAME if DEFAULT_SCHEDULER_NAME in names else None
