"""Define the abstract syntax of words, selectors, sets of pods and expressions; see `syntax`."""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

from policysched.lang import source


@dataclasses.dataclass(frozen=True, slots=True)
class SyntaxNode:
    """The base class of all nodes.

    Attributes:
        span: range of the node in the text; equality ignores it.
    """

    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Operation(SyntaxNode):
    """A node whose parentheses `fmt` can keep.

    Attributes:
        in_parentheses: whether the node was written in parentheses that `fmt` keeps (see
            `kept_parentheses`); equality ignores it.
    """

    in_parentheses: bool = dataclasses.field(default=False, compare=False, repr=False, kw_only=True)


# ---------------------------------------------------------------------------- words and numbers


@dataclasses.dataclass(frozen=True, slots=True)
class Value(SyntaxNode):
    """A word, or a string between double quotes that replaces a word.

    Attributes:
        text: the word, or the content of the string with its escapes resolved; `$name` for the
            value of a param.
        quoted: whether it was written in quotes (`"priority" = x` means the label, not the field).
    """

    text: str
    quoted: bool = False

    @property
    def param(self) -> str:
        """The name of the param whose value this is, "" for a word or string."""
        return self.text[1:] if self.text.startswith("$") and not self.quoted else ""


@dataclasses.dataclass(frozen=True, slots=True)
class Numeral(SyntaxNode):
    """A number as written, with unit suffix and minus sign: `5m`, `80%`, `4Gi`, `-3`, `0.7`."""

    text: str


Amount: TypeAlias = Numeral | Value
"""A number, or the unquoted name of a param or let."""


# ---------------------------------------------------------------------------- selectors


@dataclasses.dataclass(frozen=True, slots=True)
class Subject(SyntaxNode):
    """The property that a requirement compares.

    Attributes:
        name: a label key or reserved field; the name of a function if `argument` is set.
        argument: `cpu` in `requests(cpu)`, `a.b/c` in `annotation(a.b/c)`; None for a bare name.
    """

    name: Value
    argument: Value | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PodValue(SyntaxNode):
    """`pod(subject)`: a value that the incoming pod has, such as `pod(tenant)`."""

    subject: Subject


RequirementValue: TypeAlias = Value | PodValue

Operator: TypeAlias = Literal[
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "=", "!=", "<", "<=", ">", ">="
]


@dataclasses.dataclass(frozen=True, slots=True)
class Requirement(Operation):
    """`key In (a, b)`, `key Exists`, `key Gt 5`, `key = a`, `key = pod(key)`, `requests(cpu) >= 1`.

    Attributes:
        operator: the operator in canonical spelling: `==` becomes `=`, `in` becomes `In`.
        values: empty for Exists and DoesNotExist, one or more for In and NotIn, otherwise one.
        operator_span: range of the operator in the text.
    """

    subject: Subject
    operator: Operator
    values: tuple[RequirementValue, ...]
    operator_span: source.Span = dataclasses.field(compare=False, repr=False)

    @property
    def words(self) -> tuple[Value, ...]:
        """The values that are words."""
        return tuple(each for each in self.values if isinstance(each, Value))

    @property
    def pod_values(self) -> tuple[PodValue, ...]:
        """The values that the incoming pod has."""
        return tuple(each for each in self.values if isinstance(each, PodValue))


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorRef(SyntaxNode):
    """The name of a let that defines a selector."""

    name: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Toleration(SyntaxNode):
    """A taint pattern: `dedicated=web:NoSchedule`, `sla Gt 950`, `key Exists:NoExecute`.

    Attributes:
        key: taint key, or `*`, which the checker refuses.
        operator: None if the text has only a key.
        value: set for `=`, Gt and Lt.
        effect: the word after the colon, or None.
    """

    key: Value
    operator: Literal["=", "Exists", "Gt", "Lt"] | None
    value: Value | None
    effect: Value | None


@dataclasses.dataclass(frozen=True, slots=True)
class Tainted(SyntaxNode):
    """`tainted(pattern)`: the node has a taint that matches the pattern."""

    pattern: Toleration


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorAnd(SyntaxNode):
    """Two or more selectors joined by `and`."""

    operands: tuple[Selector, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorOr(SyntaxNode):
    """Two or more selectors joined by `or`."""

    operands: tuple[Selector, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorNot(Operation):
    """`not selector`."""

    operand: Selector


Selector: TypeAlias = Requirement | SelectorRef | Tainted | SelectorAnd | SelectorOr | SelectorNot


# ---------------------------------------------------------------------------- sets of pods


@dataclasses.dataclass(frozen=True, slots=True)
class PodSet(SyntaxNode):
    """`self`, `sameWorkload`, `pods` or `pods where selector`."""

    kind: Literal["self", "sameWorkload", "pods"]
    where: Selector | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class WordClause(SyntaxNode):
    """A clause with one word.

    The keyword is `topologyKey`, `as`, `prefer`, `whenUnsatisfiable`, `nodeAffinityPolicy` or
    `nodeTaintsPolicy`; in a metric, `node`, `cluster` or `source`.
    """

    keyword: str
    word: Value


@dataclasses.dataclass(frozen=True, slots=True)
class WordsClause(SyntaxNode):
    """namespaces, matchLabelKeys, mismatchLabelKeys.

    Attributes:
        is_all: set for `namespaces all`; `words` then contains only `all`.
        of_pod: the value in `namespaces pod(namespace)`; `words` is then empty.
    """

    keyword: str
    words: tuple[Value, ...]
    is_all: bool = False
    of_pod: PodValue | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorClause(SyntaxNode):
    """namespaceSelector."""

    keyword: str
    selector: Selector


@dataclasses.dataclass(frozen=True, slots=True)
class PodCount(SyntaxNode):
    """`count(pods where selector topologyKey zone)`: a number of placed pods.

    Attributes:
        clauses: `topologyKey`, and others that `podAffinity` has for its pods.
    """

    pods: PodSet
    clauses: tuple[WordClause | WordsClause | SelectorClause, ...]


# ---------------------------------------------------------------------------- expressions


@dataclasses.dataclass(frozen=True, slots=True)
class Number(SyntaxNode):
    """A literal number."""

    numeral: Numeral


@dataclasses.dataclass(frozen=True, slots=True)
class Text(SyntaxNode):
    """A string as an argument of a function: `free("nvidia.com/gpu")`."""

    value: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Ref(SyntaxNode):
    """A bare name: metric, param, let, pod field, or resource as an argument of a function."""

    name: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Argument(SyntaxNode):
    """One argument of a call: `x`, or `key: x` as in `LeastAllocated(cpu: 2)`, `shape(0%: 100)`.

    Attributes:
        key: the expression before the colon, or None.
        value: the argument itself.
    """

    key: Expr | None
    value: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class Call(SyntaxNode):
    """`function(argument, …)`."""

    function: Value
    arguments: tuple[Argument, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class NodeTest(SyntaxNode):
    """`node(selector)`: a condition on the node's labels, fields and taints."""

    selector: Selector


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterTest(SyntaxNode):
    """`cluster(selector)`: a condition on the cluster's labels, fields and taints."""

    selector: Selector


@dataclasses.dataclass(frozen=True, slots=True)
class PodTest(SyntaxNode):
    """`pod(selector)`: a condition on the incoming pod."""

    selector: Selector


@dataclasses.dataclass(frozen=True, slots=True)
class Negate(Operation):
    """`-x`."""

    operand: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class Binary(Operation):
    """Left-associative arithmetic."""

    operator: Literal["+", "-", "*", "/"]
    left: Expr
    right: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class Else(Operation):
    """`value else fallback`: `fallback` replaces a missing `value`."""

    value: Expr
    fallback: Expr


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison(Operation):
    """`left > right`; `==` is `=`."""

    operator: Literal["=", "!=", "<", "<=", ">", ">="]
    left: Expr
    right: Expr
    operator_span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ExprAnd(SyntaxNode):
    """Two or more conditions joined by `and`."""

    operands: tuple[Expr, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ExprOr(SyntaxNode):
    """Two or more conditions joined by `or`."""

    operands: tuple[Expr, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ExprNot(Operation):
    """`not condition`."""

    operand: Expr


Expr: TypeAlias = (
    Number
    | Text
    | Ref
    | Call
    | NodeTest
    | ClusterTest
    | PodTest
    | PodCount
    | Negate
    | Binary
    | Else
    | Comparison
    | ExprAnd
    | ExprOr
    | ExprNot
)
