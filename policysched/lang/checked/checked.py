"""The meaning of a policy: what the checker hands to the compiler.

Everything is resolved: params and lets are substituted, names point at what they name, clauses that
were left out have their defaults, numbers are in the canonical scale of `policysched.units`
(bytes, milli-cores, seconds, ratios 0..1), label operators are the six of Kubernetes. Nothing here
can fail at run time except that data is missing; then `on_missing` and `missing_points` decide.
Selectors are in `checked_selector`, expressions in `checked_expr`.

Order carries no meaning in any tuple below; they are in the order of the text for display.
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
    """What a just-placed pod is expected to add to the metric of its node, for a time.

    Attributes:
        value: in canonical scale; reads the pod and facts of the node alone.
        seconds: how long it counts from when the pod was scheduled.
    """

    value: checked_expr.TypedExpr
    seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedMetric:
    """A metric: one PromQL query whose answer has one sample for each node.

    Attributes:
        key: unique in the program: the name, or `name@hash` where a profile's params change the
            query; equal keys mean equal queries.
        name: as declared.
        unit: of the value; `cores` are whole cores as the query returns them.
        promql: with params substituted.
        target: `node`, or `cluster` for cluster policies.
        label: label of the result that names the node (or cluster).
        refresh_seconds: time between two queries.
        max_age_seconds: samples older than this count as missing, by their own timestamp.
        missing_action: what a node without a sample means to `reject`, unless the clause says.
        missing_points: what a node without a sample gets from `score`, unless the clause says.
        source_name: name of the source, None for the default one.
        low: values below count as missing, in the scale of the query; None for no bound.
        high: values above count as missing; None for no bound.
        window: which samples make up the value, unless a clause says; None for the newest one.
        placed: what just-placed pods add.
        fallback: what stands for a missing value, in canonical scale; wherever the metric is read
            the checker has put it in.
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
    """What every rule has.

    Attributes:
        name: stable display name, `policy/name` with the name given by `as`, else
            `policy/KIND@hash` with the hash of the rule's canonical text; unique in the program.
        policy: name of the policy.
        kind: the keyword that starts it: nodeAffinity, podAffinity, podAntiAffinity,
            topologySpread, tolerate, reject, score, clusterAffinity.
        given_name: the name given by `as`, or None.
        text: canonical text on one line, for explain.
        message: what to tell when the rule rejects a node, or None.
        active: when the rule acts (`during`, `expires`); None for always.
        span: the whole statement.
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
    """Nodes must match (required), or matching ones get 100 points and others 0 (preferred).

    Attributes:
        weight: 1..100 for preferred; None makes the rule required.
    """

    head: RuleHead
    selector: checked_selector.Selector
    weight: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class PodAffinityRule:
    """Pods near (or, anti, not near) the pods of a set; terms are ANDed like Kubernetes' own.

    Preferred: count of matching pods in the node's domain, min-max over the feasible nodes, all
    equal = 0; anti turns it around. A required anti term repels later pods symmetrically.

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
    """A topology spread constraint with Kubernetes' meaning of each field.

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
    """Nodes on which the condition holds are rejected.

    Attributes:
        on_missing: what a condition whose truth depends on missing data means: `allow` reads it as
            false, `reject` as true; None where no data can be missing.
        until: with hysteresis, the condition on which a node is let go that was rejected; neither
            reads the incoming pod then, and both read a metric.
    """

    head: RuleHead
    condition: checked_expr.TypedExpr
    on_missing: Literal["allow", "reject"] | None
    until: checked_expr.TypedExpr | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class LinearNormalization:
    """Points 0 at `low`, 100 at `high` (`prefer low`: 100 at low, 0 at high), clamped between."""

    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class MinMaxNormalization:
    """Points by position between the smallest and the largest value of the feasible nodes.

    span = max(largest - smallest, floor); prefer high: 100 (v - smallest) / span, prefer low:
    100 (largest - v) / span; all 0 where span is 0.
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
    """Piecewise linear through (value, points), constant outside; says its direction itself.

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
        value: a number or a condition; the non-finite counts as missing.
        prefer: None for Shape and for conditions (true = 100).
        normalization: over the feasible nodes of the pod; None for conditions.
        missing_points: final points 0..100 of nodes without a value; None where none can be missing
            (a non-finite number then still gets 0).
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
    """A resource strategy of NodeResourcesFit as a term of its own, beside that plugin.

    Attributes:
        resources: (resource, weight), the strategy's own weights 1..100.
        shape: for RequestedToCapacityRatio (utilization 0..100, points 0..100), increasing.
        weight: 1..100, of the term in the pool.
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
    """Return the expressions of a rule."""
    match rule:
        case RejectRule(condition=condition, until=until):
            return (condition,) if until is None else (condition, until)
        case ExpressionScoreRule(value=value):
            return (value,)
        case _:
            return ()


@dataclasses.dataclass(frozen=True, slots=True)
class DisabledRule:
    """`disable policy.rule`: the rule does not act on pods that the disabling policy selects.

    Attributes:
        policy: name of the policy that has the rule.
        rule: `RuleHead.name` of the rule.
    """

    policy: str
    rule: str
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedPolicy:
    """One policy.

    Attributes:
        mode: enforce, or shadow: decided beside the real decision.
        scope: which pods, or which resources.
        span: of the name in its declaration.
        clusters: what a clusterPolicy says besides its rules, which are about clusters then; None
            for a policy about pods and nodes.
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
        args: arguments in the shape of the plugin's YAML, None if not given.
    """

    name: str
    weight: int | None
    args: Mapping[str, JsonValue] | None
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedProfile:
    """One scheduler name and what decides under it.

    Attributes:
        name: the schedulerName; None for the one profile that is implied where the text has none.
        policies: resolved with this profile's params, so they may differ between profiles.
        metrics: those that its policies read, by key.
        plugins: built-in or third-party plugins enabled, weighted or given arguments.
        disabled: plugins off at every extension point.
        disabled_scores: plugins whose score alone is off.
        disable_all_scores: all built-in scores are off, save those of `plugins` with a weight.
        builtin_weight: multiplies the weight of every built-in score, 1..100.
        on_outage: `skip`: a rule whose metric has no valid sample on any node drops out; `hold`:
            its pods wait.
        params: values in this profile.
        span: of the name, None for the implied profile.
        cluster_policies: its clusterPolicies, for the scheduler of a Karmada control plane.
        cluster_metrics: those that these read, by key.
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
        promql: how it is written into a query: durations and numbers raw, strings escaped.
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
        params: with their values outside of any profile.
        metrics: every declared metric, with those params.
        policies: every policy, with those params; one in no profile is inert.
        profiles: at least one.
        content_hash: 12 hex digits over the texts and the given params; changes with any of them.
        cluster_policies: every clusterPolicy, likewise.
    """

    params: tuple[CheckedParam, ...]
    metrics: tuple[CheckedMetric, ...]
    policies: tuple[CheckedPolicy, ...]
    profiles: tuple[CheckedProfile, ...]
    content_hash: str
    cluster_policies: tuple[CheckedPolicy, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the metric sources that some metric asks for, sorted; the default has none."""
        read = [*self.metrics, *(metric for each in self.profiles for metric in each.metrics)]
        return tuple(sorted({m.source_name for m in read if m.source_name is not None}))

    @property
    def decides_all_pods(self) -> bool:
        """Whether some profile decides the pods whose schedulerName no profile has."""
        names = [each.name for each in self.profiles]
        return None in names or find_fallback_profile(names) is not None


DEFAULT_SCHEDULER_NAME: Final = "policysched"
"""Name of the profile if neither a policy nor an option names one."""


def find_fallback_profile(names: Collection[str | None]) -> str | None:
    """Return the profile that decides pods of other names, None if none does."""
    if len(names) == 1:
        return next(iter(names))
    return DEFAULT_SCHEDULER_NAME if DEFAULT_SCHEDULER_NAME in names else None
