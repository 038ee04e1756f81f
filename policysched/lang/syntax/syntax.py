"""Define the abstract syntax of policy texts, with unresolved names.

Every node is frozen and has the span of its text. Comparison ignores spans, so two texts mean the
same to the parser if and only if their trees are equal. The formatter relies on this.

    syntax         items, statements, profiles (this module)
    syntax_clause  clauses
    syntax_expr    words, selectors, expressions

The tree contains words as written (`Value.text`). The checker decides whether `10m` is minutes or
millicores, whether `hot` is a let, a param or a metric, and which clauses a statement allows.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

from policysched.lang.syntax import syntax_clause, syntax_expr

# ---------------------------------------------------------------------------- statements


@dataclasses.dataclass(frozen=True, slots=True)
class Meta(syntax_expr.SyntaxNode):
    """`description "…"`, `owner "…"`, `mode enforce`."""

    keyword: Literal["description", "owner", "mode"]
    value: syntax_expr.Value


@dataclasses.dataclass(frozen=True, slots=True)
class AllProfiles(syntax_expr.SyntaxNode):
    """`profiles all`: every profile uses the policy, unless the profile excludes it."""


@dataclasses.dataclass(frozen=True, slots=True)
class NamespaceScope(syntax_expr.SyntaxNode):
    """`in namespace (a, b)` or `namespaceSelector …`: either `names` or `selector` is set."""

    names: tuple[syntax_expr.Value, ...]
    selector: syntax_expr.Selector | None


@dataclasses.dataclass(frozen=True, slots=True)
class Scope(syntax_expr.SyntaxNode):
    """`for pods …` or `for resources …`: the scope of the policy."""

    keyword: Literal["pods", "resources"]
    namespaces: NamespaceScope | None
    where: syntax_expr.Selector | None


@dataclasses.dataclass(frozen=True, slots=True)
class NodeAffinity(syntax_expr.SyntaxNode):
    """`nodeAffinity required|preferred selector clause…`."""

    strength: Literal["required", "preferred"]
    selector: syntax_expr.Selector
    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PodAffinity(syntax_expr.SyntaxNode):
    """`podAffinity|podAntiAffinity required|preferred pods clause…`."""

    kind: Literal["podAffinity", "podAntiAffinity"]
    strength: Literal["required", "preferred"]
    pods: syntax_expr.PodSet
    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TopologySpread(syntax_expr.SyntaxNode):
    """`topologySpread [pods] clause…`; `self` is the default for pods."""

    pods: syntax_expr.PodSet | None
    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Tolerate(syntax_expr.SyntaxNode):
    """`tolerate toleration, … clause…`."""

    tolerations: tuple[syntax_expr.Toleration, ...]
    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Reject(syntax_expr.SyntaxNode):
    """`reject when condition clause…`."""

    condition: syntax_expr.Expr
    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Score(syntax_expr.SyntaxNode):
    """`score expression clause…`."""

    value: syntax_expr.Expr
    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Preempt(syntax_expr.SyntaxNode):
    """`preempt never clause…` or `preempt pods clause…`; without pods, it means `never`."""

    pods: syntax_expr.PodSet | None
    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Protect(syntax_expr.SyntaxNode):
    """`protect from preemption clause…`."""

    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Disable(syntax_expr.SyntaxNode):
    """`disable policy.rule`; the text of `rule` is empty if there is no dot."""

    policy: syntax_expr.Value
    rule: syntax_expr.Value


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterAffinity(syntax_expr.SyntaxNode):
    """`clusterAffinity required|preferred selector clause…`."""

    strength: Literal["required", "preferred"]
    selector: syntax_expr.Selector
    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterGroup(syntax_expr.SyntaxNode):
    """`clusterGroup name where selector`; the groups of a policy are tried in their order."""

    name: syntax_expr.Value
    selector: syntax_expr.Selector


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadConstraint(syntax_expr.SyntaxNode):
    """`spreadConstraint by region minGroups 2 maxGroups 3`."""

    by: syntax_expr.Value
    clauses: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Replicas(syntax_expr.SyntaxNode):
    """`replicas Duplicated | Divided Aggregated | Divided Weighted …`.

    Attributes:
        division: the kind of division.
        weights: (cluster, weight) pairs of `Divided Weighted (m1: 2, m2: 1)`.
        dynamic: `AvailableReplicas`, or `score` for `Divided Weighted by score`, or None.
        rule: the rule in `by score RULE`; None for the sum of all scores.
    """

    division: Literal["Duplicated", "Aggregated", "Weighted"]
    weights: tuple[tuple[syntax_expr.Value, syntax_expr.Amount], ...] = ()
    dynamic: Literal["AvailableReplicas", "score"] | None = None
    rule: syntax_expr.Value | None = None


Statement: TypeAlias = (
    Meta
    | AllProfiles
    | Scope
    | NodeAffinity
    | PodAffinity
    | TopologySpread
    | Tolerate
    | Reject
    | Score
    | Preempt
    | Protect
    | Disable
    | ClusterAffinity
    | ClusterGroup
    | SpreadConstraint
    | Replicas
)


# ---------------------------------------------------------------------------- profiles


@dataclasses.dataclass(frozen=True, slots=True)
class ArgsObject(syntax_expr.SyntaxNode):
    """`{ key: value, … }` after `args`: plugin arguments, structured like the plugin's YAML."""

    entries: tuple[tuple[syntax_expr.Value, ArgsValue], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ArgsList(syntax_expr.SyntaxNode):
    """`[ value, … ]`."""

    items: tuple[ArgsValue, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ArgsScalar(syntax_expr.SyntaxNode):
    """A word or string; unquoted numbers, `true`, `false` and `null` have their JSON meaning."""

    value: syntax_expr.Value


ArgsValue: TypeAlias = ArgsObject | ArgsList | ArgsScalar


@dataclasses.dataclass(frozen=True, slots=True)
class ProfilePolicies(syntax_expr.SyntaxNode):
    """`policies a, b`: the policies that the profile uses."""

    names: tuple[syntax_expr.Value, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ExcludePolicies(syntax_expr.SyntaxNode):
    """`exclude a, b`: the policies of all profiles that this profile does not use."""

    names: tuple[syntax_expr.Value, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class UsePlugin(syntax_expr.SyntaxNode):
    """`plugin NAME [weight N] [args {…}]`: also enables a plugin that is off by default."""

    name: syntax_expr.Value
    weights: tuple[syntax_expr.Amount, ...]
    args: tuple[ArgsObject, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class DisablePlugins(syntax_expr.SyntaxNode):
    """Plugins that the profile disables.

    `disable NAME, …` disables plugins at every extension point, `disable scores NAME, …` only their
    scores, and `disable all scores` (no names) the scores of all built-in plugins.
    """

    names: tuple[syntax_expr.Value, ...]
    scores_only: bool


@dataclasses.dataclass(frozen=True, slots=True)
class BuiltinWeight(syntax_expr.SyntaxNode):
    """`builtin weight N`: a factor for the weights of all built-in scores."""

    weight: syntax_expr.Amount


@dataclasses.dataclass(frozen=True, slots=True)
class OnOutage(syntax_expr.SyntaxNode):
    """`onOutage skip|hold`."""

    action: syntax_expr.Value


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileParam(syntax_expr.SyntaxNode):
    """`param name = literal`: the param's value in this profile."""

    name: syntax_expr.Value
    value: syntax_expr.Numeral | syntax_expr.Value


ProfileStatement: TypeAlias = (
    ProfilePolicies
    | ExcludePolicies
    | UsePlugin
    | DisablePlugins
    | BuiltinWeight
    | OnOutage
    | ProfileParam
)


# ---------------------------------------------------------------------------- top level


@dataclasses.dataclass(frozen=True, slots=True)
class Version(syntax_expr.SyntaxNode):
    """`version 1`."""

    number: syntax_expr.Numeral


@dataclasses.dataclass(frozen=True, slots=True)
class Import(syntax_expr.SyntaxNode):
    """`import "metrics.policy"`: that text must be among the texts that are checked together."""

    key: syntax_expr.Value


@dataclasses.dataclass(frozen=True, slots=True)
class Param(syntax_expr.SyntaxNode):
    """`param name: type = literal`; a string literal is a quoted Value."""

    name: syntax_expr.Value
    type: syntax_expr.Value
    default: syntax_expr.Numeral | syntax_expr.Value


@dataclasses.dataclass(frozen=True, slots=True)
class LetExpr(syntax_expr.SyntaxNode):
    """`let name = expression`: a literal is an expression too."""

    name: syntax_expr.Value
    expr: syntax_expr.Expr


@dataclasses.dataclass(frozen=True, slots=True)
class LetSelector(syntax_expr.SyntaxNode):
    """`let name = { selector }`."""

    name: syntax_expr.Value
    selector: syntax_expr.Selector


@dataclasses.dataclass(frozen=True, slots=True)
class PromQL(syntax_expr.SyntaxNode):
    """A query between backticks, as written; `span` includes the backticks."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Metric(syntax_expr.SyntaxNode):
    """`metric name: type = query option…`."""

    name: syntax_expr.Value
    type: syntax_expr.Value
    query: PromQL
    options: tuple[syntax_clause.Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Policy(syntax_expr.SyntaxNode):
    """`policy name { statement… }` or `clusterPolicy name { statement… }`."""

    keyword: Literal["policy", "clusterPolicy"]
    name: syntax_expr.Value
    statements: tuple[Statement, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Profile(syntax_expr.SyntaxNode):
    """`profile scheduler-name { statement… }`."""

    name: syntax_expr.Value
    statements: tuple[ProfileStatement, ...]


Item: TypeAlias = Version | Import | Param | LetExpr | LetSelector | Metric | Policy | Profile


@dataclasses.dataclass(frozen=True, slots=True)
class Comment(syntax_expr.SyntaxNode):
    """`# …` up to the end of its line; kept separately from the tree."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class SyntaxTree(syntax_expr.SyntaxNode):
    """One policy text.

    Attributes:
        items: top-level items in text order; an item with syntax errors lacks its broken
            statements, or is omitted entirely.
        comments: all comments in text order; equality ignores them.
    """

    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = dataclasses.field(default=(), compare=False)
