"""One Python function for all that many rules ask about a single node.

After a placement one node is asked about, by every rule that reads what is free: as operators that
call each other, that is some hundreds of calls. So the operators are written down as statements,
each distinct one once, and compiled. Nothing that users wrote gets into the text of a function: it
consists of numbered names and of operators; constants, statuses and look-ups come in as values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler import conditions, outages, physical
from policysched.framework import cycle_state
from policysched.lang.checked import checked_expr

Answer: TypeAlias = Callable[[cycle_state.CycleState, pod_shape.PodInfo, snapshot.NodeRow], Any]
"""A function that was written; what it returns is up to who wrote the last line."""
_COMPARATORS: Mapping[str, str] = MappingProxyType(
    {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
)
_OPERATORS: Mapping[str, str] = MappingProxyType({"+": "+", "-": "-", "*": "*", "/": "/"})
"""Like the comparators: no text gets into a function but what stands here."""
_AMOUNTS: Mapping[str, str] = MappingProxyType(
    {"allocatable": "node.allocatable", "requested": "node.requested"}
)
_PODS: Mapping[str, str] = MappingProxyType(
    {"allocatable": "node.allowed_pods", "requested": "node.pod_count"}
)
_NEVER_MISSING = (
    physical.Literal,
    physical.Resource,
    physical.PodRequest,
    physical.Priority,
    conditions.NodeMatches,
    conditions.PodMatches,
)
_COSTLY = (checked_expr.NodeMatch, checked_expr.PodMatch)
"""What `and`, `or` and `else` had better not look at without need."""


class Variable(NamedTuple):
    """What an expression is on the node, in a variable of the function.

    Attributes:
        name: of the variable.
        may_lack: whether it can be None, for missing or unknown.
    """

    name: str
    may_lack: bool


class Writer:
    """Writes a function line by line."""

    def __init__(self) -> None:
        """Begin."""
        self._values: dict[str, object] = {}
        self._known: dict[Hashable, Variable] = {}
        self._variables = 0
        self._lines = ["snap = node.snapshot"]

    def line(self, text: str) -> None:
        """Write a statement."""
        self._lines.append(text)

    def value(self, value: object) -> str:
        """Return the name of something that the function is given."""
        name = f"k{len(self._values)}"
        self._values[name] = value
        return name

    def _name_of(self, value: Hashable) -> str:
        """Return the name of a value that may have been given already."""
        key = (type(value), value)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Variable(self.value(value), may_lack=False)
        return known.name

    def variable(self, text: str) -> str:
        """Write an assignment to a new variable, which is returned."""
        self._variables += 1
        name = f"v{self._variables}"
        self.line(f"{name} = {text}")
        return name

    def outage(self, outage: outages.Outage) -> str:
        """Return the variable that says whether a rule lost a metric; "" where it reads none."""
        if not outage.reads_metrics:
            return ""
        return self.variable(f"{self.value(outage.is_on)}(snap, state)")

    def share(self, number: Variable, low: float, span: float, full: int) -> str:
        """Write how far half of a number is from `low` to `low + span`, of `full`, rounded.

        The expression that is returned is undefined where the number is missing.
        """
        text = f"({number.name} / 2 - {self.value(low)}) / {self.value(span)}"
        share = self._where_known([number], text).name
        return f"0 if {share} <= 0.0 else {full} if {share} >= 1.0 else round({share} * {full}.0)"

    @property
    def text(self) -> str:
        """What is written so far."""
        return "\n    ".join(("def answer(state, pod, node):", *self._lines, ""))

    def finish(self) -> Answer:
        """Return the function; its last line must have been written."""
        code = compile(self.text, "<rules on one node>", "exec")
        names = dict(self._values)
        exec(code, names)  # noqa: S102 - made of numbered names alone, see above
        found: Answer = names["answer"]  # type: ignore[assignment]  # what the code defines
        return found

    def of(self, expr: physical.NumberExpr | physical.TruthExpr) -> Variable:
        """Write what an expression is, unless that is written already."""
        while isinstance(expr, physical.Kept):
            expr = expr.inner
        key = (type(expr), expr.source)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._write(expr)
        return known

    def _write(self, expr: physical.NumberExpr | physical.TruthExpr) -> Variable:
        match expr:
            case physical.Literal(number=number):
                return Variable(self.value(number), may_lack=False)
            case physical.Arithmetic(source=checked_expr.ArithmeticOperation(operator=operator)):
                return self._arithmetic(operator, self.of(expr.left), self.of(expr.right))
            case physical.Function(arguments=arguments):
                return self._function(expr, [self.of(each) for each in arguments])
            case physical.Fallback() if not _is_costly(expr.fallback):
                return self._fallback(self.of(expr.value), self.of(expr.fallback))
            case conditions.Comparison(source=checked_expr.Compare(comparator=comparator)):
                left, right = self.of(expr.left), self.of(expr.right)
                text = f"{left.name} {_COMPARATORS[comparator]} {right.name}"
                return self._where_known([left, right], text)
            case conditions.AllOf(operands=operands) if not any(map(_is_costly, operands)):
                return self._kleene("False", "and", [self.of(each) for each in operands])
            case conditions.AnyOf(operands=operands) if not any(map(_is_costly, operands)):
                return self._kleene("True", "or", [self.of(each) for each in operands])
            case conditions.Negation(operand=operand):
                negated = self.of(operand)
                return self._where_known([negated], f"not {negated.name}")
            case physical.Resource(source=source) | physical.PodRequest(source=source):
                return self._amount(source)
            case _:
                one = self._once(f"{self._name_of(physical.OneNode)}(node, pod.shape, state)")
                name = self.variable(f"{self.value(expr.at)}({one})")
                return Variable(name, may_lack=not isinstance(expr, _NEVER_MISSING))

    def _amount(self, source: checked_expr.NodeResource | checked_expr.PodRequests) -> Variable:
        """Write an amount; free ones overflow as they do for many rows (`NodeRow.free_of`)."""
        if isinstance(source, checked_expr.PodRequests):
            amounts = self._once("pod.shape.requests.amounts")
            whole = f"{amounts}.get({self._name_of(source.resource)}, 0)"
        elif source.kind == "free":
            allocatable = self._whole("allocatable", source.resource)
            requested = self._whole("requested", source.resource)
            end, span = self.value(2**63), self.value(2**64)
            whole = f"({allocatable} - {requested} + {end}) % {span} - {end}"
        else:
            whole = self._whole(source.kind, source.resource)
        return Variable(self.variable(f"{self.value(float)}({whole})"), may_lack=False)

    def _whole(self, kind: str, resource: str) -> str:
        """Return the variable of an allocatable or requested amount, a whole number."""
        if resource == "pods":
            return self._once(_PODS[kind])
        column = self._once(f"snap.nodes.resources.find({self._name_of(resource)})")
        return self._once(f"0 if {column} is None else {_AMOUNTS[kind]}[{column}]")

    def _once(self, text: str) -> str:
        """Return the variable that an assignment is written to, unless it is written already."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = Variable(self.variable(text), may_lack=False)
        return known.name

    def _arithmetic(self, operator: str, left: Variable, right: Variable) -> Variable:
        text = f"{left.name} {_OPERATORS[operator]} {right.name}"
        if operator == "/":
            text = f"{text} if {right.name} else None"
        name = self._where_known([left, right], text).name
        # What is not finite is missing; it differs from itself, which makes a NaN, which is true.
        can_be_none = left.may_lack or right.may_lack or operator == "/"
        is_there = f"{name} is not None and " if can_be_none else ""
        self.line(f"if {is_there}{name} - {name}: {name} = None")
        return Variable(name, may_lack=True)

    def _function(self, expr: physical.Function, arguments: list[Variable]) -> Variable:
        given = ", ".join(each.name for each in arguments)
        found = self._where_known(arguments, f"{self.value(expr.on_one)}([{given}])")
        return Variable(found.name, may_lack=True)

    def _fallback(self, value: Variable, fallback: Variable) -> Variable:
        if not value.may_lack:
            return value
        name = self.variable(f"{fallback.name} if {value.name} is None else {value.name}")
        return Variable(name, fallback.may_lack)

    def _where_known(self, operands: list[Variable], text: str) -> Variable:
        """Write what is None where one of the operands is."""
        lacking = [f"{each.name} is None" for each in operands if each.may_lack]
        if lacking:
            text = f"None if {' or '.join(lacking)} else ({text})"
        return Variable(self.variable(text), may_lack=bool(lacking))

    def _kleene(self, settles: str, word: str, operands: list[Variable]) -> Variable:
        """Write a conjunction, which False settles, or a disjunction, which True does."""
        names = [each.name for each in operands]
        lacking = [f"{each.name} is None" for each in operands if each.may_lack]
        if not lacking:
            return Variable(self.variable(f" {word} ".join(names)), may_lack=False)
        settled = " or ".join(f"{name} is {settles}" for name in names)
        unknown = f"None if {' or '.join(lacking)} else {settles != 'True'}"
        return Variable(self.variable(f"{settles} if {settled} else {unknown}"), may_lack=True)


def _is_costly(expr: physical.NumberExpr | physical.TruthExpr) -> bool:
    return any(isinstance(each, _COSTLY) for each in checked_expr.walk_expressions(expr.source))
