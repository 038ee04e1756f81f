"""The abstract syntax of a policy text: what was written, nothing resolved yet.

Every node is frozen and carries the span of its text. Spans take no part in comparison, so two
texts mean the same to the parser exactly when their trees are equal; the formatter relies on it.
Words stay as written (`Value.text`): whether `10m` is minutes or millicores, whether `hot` is a
let, a param or a metric, and which clause belongs to which statement is the checker's business.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

from policysched.lang import source


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """The root of all nodes.

    Attributes:
        span: where the node was written; not compared.
    """

    span: source.Span = dataclasses.field(compare=False, repr=False)


# ---------------------------------------------------------------------------- words and numbers


@dataclasses.dataclass(frozen=True, slots=True)
class Value(Node):
    """A word, or a string between double quotes where a word may stand.

    Attributes:
        text: the word, or the content of the string with its escapes resolved.
        quoted: written between quotes (`"priority" = x` means the label, not the field).
    """

    text: str
    quoted: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Numeral(Node):
    """A number as written, unit suffix and minus sign included: `5m`, `80%`, `4Gi`, `-3`, `0.7`."""

    text: str


Amount: TypeAlias = Numeral | Value
"""A number, or the (unquoted) name of a param or let that stands for one."""


# ---------------------------------------------------------------------------- selectors


@dataclasses.dataclass(frozen=True, slots=True)
class Subject(Node):
    """What a requirement is about.

    Attributes:
        name: a label key or reserved field; with `argument`, the name of a function.
        argument: `cpu` in `requests(cpu)`, `a.b/c` in `annotation(a.b/c)`; None for a bare name.
    """

    name: Value
    argument: Value | None = None


Operator: TypeAlias = Literal[
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "=", "!=", "<", "<=", ">", ">="
]


@dataclasses.dataclass(frozen=True, slots=True)
class Requirement(Node):
    """`key In (a, b)`, `key Exists`, `key Gt 5`, `key = a`, `requests(cpu) >= 500m`.

    Attributes:
        operator: canonical spelling; `==` is `=`, `in` is `In`.
        values: none for Exists and DoesNotExist, one or more for In and NotIn, else one.
        operator_span: where the operator was written.
    """

    subject: Subject
    operator: Operator
    values: tuple[Value, ...]
    operator_span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorRef(Node):
    """The name of a let that holds a selector."""

    name: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Toleration(Node):
    """A pattern for taints: `dedicated=web:NoSchedule`, `sla Gt 950`, `key Exists:NoExecute`.

    Attributes:
        key: taint key, or `*` (refused by the checker).
        operator: None where only the key was written.
        value: with `=`, Gt and Lt.
        effect: as written behind the colon, or None.
    """

    key: Value
    operator: Literal["=", "Exists", "Gt", "Lt"] | None
    value: Value | None
    effect: Value | None


@dataclasses.dataclass(frozen=True, slots=True)
class Tainted(Node):
    """`tainted(pattern)`: the node has a taint of that pattern."""

    pattern: Toleration


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorAnd(Node):
    """Two or more selectors joined by `and`."""

    operands: tuple[Selector, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorOr(Node):
    """Two or more selectors joined by `or`."""

    operands: tuple[Selector, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorNot(Node):
    """`not selector`."""

    operand: Selector


Selector: TypeAlias = Requirement | SelectorRef | Tainted | SelectorAnd | SelectorOr | SelectorNot


# ---------------------------------------------------------------------------- expressions


@dataclasses.dataclass(frozen=True, slots=True)
class Number(Node):
    """A literal number."""

    numeral: Numeral


@dataclasses.dataclass(frozen=True, slots=True)
class Text(Node):
    """A string, as argument of a function: `free("nvidia.com/gpu")`."""

    value: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Ref(Node):
    """A bare name: metric, param, let, field of the pod, or resource as argument of a function."""

    name: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Argument(Node):
    """One argument of a call: `x`, or `key: x` as in `LeastAllocated(cpu: 2)`, `shape(0%: 100)`.

    Attributes:
        key: what stands before the colon, or None.
        value: the argument itself.
    """

    key: Expr | None
    value: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class Call(Node):
    """`function(argument, …)`."""

    function: Value
    arguments: tuple[Argument, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class NodeTest(Node):
    """`node(selector)`: the selector on the node's labels, fields and taints."""

    selector: Selector


@dataclasses.dataclass(frozen=True, slots=True)
class PodTest(Node):
    """`pod(selector)`: the selector on the pod that is being placed."""

    selector: Selector


@dataclasses.dataclass(frozen=True, slots=True)
class Negate(Node):
    """`-x`."""

    operand: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic, left-associative."""

    operator: Literal["+", "-", "*", "/"]
    left: Expr
    right: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class Else(Node):
    """`value else fallback`: `fallback` where `value` is missing."""

    value: Expr
    fallback: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`left > right`; `==` is `=`."""

    operator: Literal["=", "!=", "<", "<=", ">", ">="]
    left: Expr
    right: Expr
    operator_span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ExprAnd(Node):
    """Two or more conditions joined by `and`."""

    operands: tuple[Expr, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ExprOr(Node):
    """Two or more conditions joined by `or`."""

    operands: tuple[Expr, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ExprNot(Node):
    """`not condition`."""

    operand: Expr


Expr: TypeAlias = (
    Number
    | Text
    | Ref
    | Call
    | NodeTest
    | PodTest
    | Negate
    | Binary
    | Else
    | Comparison
    | ExprAnd
    | ExprOr
    | ExprNot
)


# ---------------------------------------------------------------------------- clauses

# A clause modifies a statement or a metric. `keyword` is the word as the language spells it; which
# statement takes which clause is a table of the checker (policysched.lang.clauses).


@dataclasses.dataclass(frozen=True, slots=True)
class AmountClause(Node):
    """weight, maxSkew, minDomains, minGroups, maxGroups, refresh, maxAge."""

    keyword: str
    amount: Amount


@dataclasses.dataclass(frozen=True, slots=True)
class WordClause(Node):
    """One word.

    topologyKey, as, prefer, whenUnsatisfiable, nodeAffinityPolicy, nodeTaintsPolicy; on a metric
    node, cluster, source.
    """

    keyword: str
    word: Value


@dataclasses.dataclass(frozen=True, slots=True)
class WordsClause(Node):
    """namespaces (`namespaces all` has the one unquoted word `all`), matchLabelKeys, mismatch…."""

    keyword: str
    words: tuple[Value, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TextClause(Node):
    """message, during, expires."""

    keyword: str
    text: Value


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorClause(Node):
    """namespaceSelector."""

    keyword: str
    selector: Selector


@dataclasses.dataclass(frozen=True, slots=True)
class ExprClause(Node):
    """until (hysteresis of a reject), fallback (of a metric)."""

    keyword: str
    expr: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class NormalizeClause(Node):
    """`normalize linear(0%, 90%)`, `normalize rank`."""

    keyword: str
    method: Value
    arguments: tuple[Argument, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class MissingClause(Node):
    """`missing allow`, `missing reject`, `missing score 50`."""

    keyword: str
    action: Value
    points: Amount | None


@dataclasses.dataclass(frozen=True, slots=True)
class OverClause(Node):
    """`over 10m max`, `over 10m quantile(0.95)`."""

    keyword: str
    duration: Amount
    function: Value
    argument: Amount | None


@dataclasses.dataclass(frozen=True, slots=True)
class BetweenClause(Node):
    """`between 0% and 100%`: the range of a metric."""

    keyword: str
    low: Amount
    high: Amount


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedClause(Node):
    """`placed adds 0.85 * requests(cpu) / allocatable(cpu) for 90s`: what just-placed pods add."""

    keyword: str
    expr: Expr
    duration: Amount


Clause: TypeAlias = (
    AmountClause
    | WordClause
    | WordsClause
    | TextClause
    | SelectorClause
    | ExprClause
    | NormalizeClause
    | MissingClause
    | OverClause
    | BetweenClause
    | PlacedClause
)


# ---------------------------------------------------------------------------- statements


@dataclasses.dataclass(frozen=True, slots=True)
class Meta(Node):
    """`description "…"`, `owner "…"`, `mode enforce`."""

    keyword: Literal["description", "owner", "mode"]
    value: Value


@dataclasses.dataclass(frozen=True, slots=True)
class NamespaceScope(Node):
    """`in namespace (a, b)` or `in namespace where selector`: exactly one of the two is set."""

    names: tuple[Value, ...]
    selector: Selector | None


@dataclasses.dataclass(frozen=True, slots=True)
class Scope(Node):
    """`for pods …` or `for resources …`: what the policy is about."""

    keyword: Literal["pods", "resources"]
    namespaces: NamespaceScope | None
    where: Selector | None


@dataclasses.dataclass(frozen=True, slots=True)
class NodeAffinity(Node):
    """`nodeAffinity required|preferred selector clause…`."""

    strength: Literal["required", "preferred"]
    selector: Selector
    clauses: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PodSet(Node):
    """`self`, `sameWorkload`, `pods` or `pods where selector`."""

    kind: Literal["self", "sameWorkload", "pods"]
    where: Selector | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PodAffinity(Node):
    """`podAffinity|podAntiAffinity required|preferred pods clause…`."""

    kind: Literal["podAffinity", "podAntiAffinity"]
    strength: Literal["required", "preferred"]
    pods: PodSet
    clauses: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TopologySpread(Node):
    """`topologySpread [pods] clause…`; without pods, `self` is meant."""

    pods: PodSet | None
    clauses: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Tolerate(Node):
    """`tolerate toleration, … clause…`."""

    tolerations: tuple[Toleration, ...]
    clauses: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Reject(Node):
    """`reject when condition clause…`."""

    condition: Expr
    clauses: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Score(Node):
    """`score expression clause…`."""

    value: Expr
    clauses: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Disable(Node):
    """`disable policy.rule`; `rule` has an empty text where no dot was written."""

    policy: Value
    rule: Value


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterAffinity(Node):
    """`clusterAffinity required|preferred selector clause…`."""

    strength: Literal["required", "preferred"]
    selector: Selector
    clauses: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterGroup(Node):
    """`clusterGroup name where selector`; the groups of a policy are tried in their order."""

    name: Value
    selector: Selector


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadConstraint(Node):
    """`spreadConstraint by region minGroups 2 maxGroups 3`."""

    by: Value
    clauses: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Replicas(Node):
    """`replicas Duplicated | Divided Aggregated | Divided Weighted …`.

    Attributes:
        division: how replicas are divided.
        weights: (cluster, weight) of `Divided Weighted (m1: 2, m2: 1)`.
        dynamic: `AvailableReplicas`, or `score` for `Divided Weighted by score`, or None.
        rule: `by score RULE`: one rule's score instead of the sum.
    """

    division: Literal["Duplicated", "Aggregated", "Weighted"]
    weights: tuple[tuple[Value, Amount], ...] = ()
    dynamic: Literal["AvailableReplicas", "score"] | None = None
    rule: Value | None = None


Statement: TypeAlias = (
    Meta
    | Scope
    | NodeAffinity
    | PodAffinity
    | TopologySpread
    | Tolerate
    | Reject
    | Score
    | Disable
    | ClusterAffinity
    | ClusterGroup
    | SpreadConstraint
    | Replicas
)


# ---------------------------------------------------------------------------- profiles


@dataclasses.dataclass(frozen=True, slots=True)
class ArgsObject(Node):
    """`{ key: value, … }` behind `args`: the arguments of a plugin, shaped like its YAML."""

    entries: tuple[tuple[Value, ArgsValue], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ArgsList(Node):
    """`[ value, … ]`."""

    items: tuple[ArgsValue, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ArgsScalar(Node):
    """A word or string; unquoted numbers, `true`, `false` and `null` have their JSON meaning."""

    value: Value


ArgsValue: TypeAlias = ArgsObject | ArgsList | ArgsScalar


@dataclasses.dataclass(frozen=True, slots=True)
class ProfilePolicies(Node):
    """`policies a, b`."""

    names: tuple[Value, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class UsePlugin(Node):
    """`plugin NAME [weight N] [args {…}]`: enables it where it is not on by default."""

    name: Value
    weights: tuple[Amount, ...]
    args: tuple[ArgsObject, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class DisablePlugins(Node):
    """Plugins turned off.

    `disable NAME, …` turns them off at every extension point, `disable scores NAME, …` only their
    scores, and `disable all scores` (no names) the scores of all built-in plugins.
    """

    names: tuple[Value, ...]
    scores_only: bool


@dataclasses.dataclass(frozen=True, slots=True)
class BuiltinWeight(Node):
    """`builtin weight N`: multiplies the weights of all built-in scores."""

    weight: Amount


@dataclasses.dataclass(frozen=True, slots=True)
class OnOutage(Node):
    """`onOutage skip|hold`."""

    action: Value


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileParam(Node):
    """`param name = literal`: the param's value in this profile."""

    name: Value
    value: Numeral | Value


ProfileStatement: TypeAlias = (
    ProfilePolicies | UsePlugin | DisablePlugins | BuiltinWeight | OnOutage | ProfileParam
)


# ---------------------------------------------------------------------------- top level


@dataclasses.dataclass(frozen=True, slots=True)
class Version(Node):
    """`version 1`."""

    number: Numeral


@dataclasses.dataclass(frozen=True, slots=True)
class Import(Node):
    """`import "metrics.policy"`: that text must be among those checked together."""

    key: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Param(Node):
    """`param name: type = literal`; a string literal is a quoted Value."""

    name: Value
    type: Value
    default: Numeral | Value


@dataclasses.dataclass(frozen=True, slots=True)
class LetExpr(Node):
    """`let name = expression`: literals are expressions too."""

    name: Value
    expr: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class LetSelector(Node):
    """`let name = { selector }`."""

    name: Value
    selector: Selector


@dataclasses.dataclass(frozen=True, slots=True)
class PromQL(Node):
    """A query between backticks, as written; `span` covers the backticks too."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Metric(Node):
    """`metric name: type = query option…`."""

    name: Value
    type: Value
    query: PromQL
    options: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Policy(Node):
    """`policy name { statement… }` or `clusterPolicy name { statement… }`."""

    keyword: Literal["policy", "clusterPolicy"]
    name: Value
    statements: tuple[Statement, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Profile(Node):
    """`profile scheduler-name { statement… }`."""

    name: Value
    statements: tuple[ProfileStatement, ...]


Item: TypeAlias = (
    Version | Import | Param | LetExpr | LetSelector | Metric | Policy | Profile
)


@dataclasses.dataclass(frozen=True, slots=True)
class Comment(Node):
    """`# …` up to the end of its line; kept beside the tree."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyFile(Node):
    """One policy text.

    Attributes:
        items: top-level items in the order of the text; broken ones are left out.
        comments: every comment in order; not compared.
    """

    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = dataclasses.field(default=(), compare=False)
