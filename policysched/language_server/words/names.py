"""Finds the definitions and uses of lets, params, metrics, policies and rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from policysched.lang import source
from policysched.lang.checking.metrics import promql_params
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr
from policysched.lang.words import kubernetes_names, vocabulary

Kind: TypeAlias = Literal["let", "param", "metric", "policy", "rule", "profile", "text"]
_NAMES = ("let", "param", "metric")
_OF_RESOURCES = vocabulary.TAKING_NAMES - frozenset(vocabulary.STRATEGIES)
"""Functions whose argument is the name of a resource, device class, label or annotation."""


@dataclasses.dataclass(frozen=True, slots=True)
class NamedSymbol:
    """A named definition, or a text that an import names.

    Attributes:
        kind: the kind of definition; `text` is the target of an import.
        name: the name; `POLICY/RULE` for a rule.
    """

    kind: Kind
    name: str

    @property
    def own_name(self) -> str:
        """The name without the name of its policy."""
        return self.name.rpartition("/")[2]


@dataclasses.dataclass(frozen=True, slots=True)
class NameOccurrence:
    """A place where a name is written.

    Attributes:
        span: the span of the name, without quotes.
        node: the item or statement that defines the name; None for a use.
    """

    symbol: NamedSymbol
    span: source.Span
    node: syntax_expr.SyntaxNode | None = None

    @property
    def is_definition(self) -> bool:
        """Whether this place defines the name."""
        return self.node is not None


@dataclasses.dataclass(frozen=True)
class NameIndex:
    """An index of all names in a program, for definition, references and renaming."""

    occurrences: tuple[NameOccurrence, ...]

    def find_name_at(self, text: str, offset: int) -> NameOccurrence | None:
        """Return the name that contains an offset or ends there."""
        return next(
            (
                each
                for each in self.occurrences
                if each.span.file == text and each.span.start <= offset <= each.span.end
            ),
            None,
        )

    def find_occurrences(self, symbol: NamedSymbol) -> list[NameOccurrence]:
        """Return the places of a name, beginning with the definition."""
        found = [each for each in self.occurrences if each.symbol == symbol]
        return sorted(found, key=lambda each: not each.is_definition)

    def find_definition(self, symbol: NamedSymbol) -> NameOccurrence | None:
        """Return the place of the definition of a name, or None."""
        return next((each for each in self.find_occurrences(symbol) if each.is_definition), None)

    def list_definitions(self, *kinds: Kind) -> list[NameOccurrence]:
        """Return the definitions of some kinds, in the order of the texts."""
        return [
            each for each in self.occurrences if each.is_definition and each.symbol.kind in kinds
        ]


def build_name_index(parsed: Sequence[parser.ParseResult]) -> NameIndex:
    """Return the index of the names in texts that form a program."""
    definitions = [each for result in parsed for each in _iterate_definitions(result)]
    kinds: dict[str, Kind] = {}
    for each in definitions:
        if each.symbol.kind in _NAMES:
            kinds.setdefault(each.symbol.name, each.symbol.kind)
    uses = (
        each
        for result in parsed
        for item in result.file.items
        for each in _iterate_uses(item, kinds)
    )
    ordered = {(each.span.file, each.span.start): each for each in (*uses, *definitions)}
    return NameIndex(tuple(ordered.values()))


def find_name_problem(symbol: NamedSymbol, new: str) -> str:
    """Return the reason why a name is invalid, or ""."""
    if symbol.kind in ("policy", "rule"):
        problem = kubernetes_names.find_dns_label_problem(new)
        return f"`{new}` {problem}" if problem else ""
    if not new.isascii() or not new.isidentifier():
        return f"`{new}` is not a name: use letters, digits and underscores, and no digit first"
    if new in vocabulary.RESERVED_NAMES:
        return f"`{new}` is a reserved word of expressions"
    return ""


def _iterate_definitions(result: parser.ParseResult) -> Iterator[NameOccurrence]:
    """Yield the definitions in a text, including the rules of policies."""
    for item in result.file.items:
        match item:
            case syntax.Policy(name=name, statements=statements):
                yield _make_occurrence(NamedSymbol("policy", name.text), name, item)
                for statement in statements:
                    yield from _iterate_rule_definitions(name.text, statement)
            case syntax.Profile(name=name):
                yield _make_occurrence(NamedSymbol("profile", name.text), name, item)
            case syntax.Param(name=name):
                yield _make_occurrence(NamedSymbol("param", name.text), name, item)
            case syntax.Metric(name=name):
                yield _make_occurrence(NamedSymbol("metric", name.text), name, item)
            case syntax.LetExpr(name=name) | syntax.LetSelector(name=name):
                yield _make_occurrence(NamedSymbol("let", name.text), name, item)
            case _:
                pass


def _iterate_rule_definitions(policy: str, statement: syntax.Statement) -> Iterator[NameOccurrence]:
    for clause in getattr(statement, "clauses", ()):
        if isinstance(clause, syntax_expr.WordClause) and clause.keyword == "as":
            yield _make_occurrence(
                NamedSymbol("rule", f"{policy}/{clause.word.text}"), clause.word, statement
            )


def _make_occurrence(
    symbol: NamedSymbol, name: syntax_expr.Value, node: syntax_expr.SyntaxNode | None = None
) -> NameOccurrence:
    """Return the place of a name; the span excludes quotes."""
    span = name.span
    if name.quoted:
        span = dataclasses.replace(
            span, start=span.start + 1, end=span.end - 1, column=span.column + 1
        )
    return NameOccurrence(symbol, span, node)


def _iterate_uses(item: syntax.Item, kinds: dict[str, Kind]) -> Iterator[NameOccurrence]:
    """Yield the uses of names in an item."""
    for node in _walk_naming_syntax_nodes(item):
        yield from _find_policy_names(item, node)
        match node:
            case syntax.Import(key=key):
                yield _make_occurrence(NamedSymbol("text", key.text), key)
            case syntax.ProfileParam(name=name):
                yield _make_occurrence(NamedSymbol("param", name.text), name)
            case syntax.PromQL():
                yield from _find_query_params(node)
            case syntax_expr.Value(param=name) if name:
                span = dataclasses.replace(
                    node.span, start=node.span.start + 1, column=node.span.column + 1
                )
                yield NameOccurrence(NamedSymbol("param", name), span)
            case _:
                for name in _iterate_names_in_syntax_node(node):
                    if name.text in kinds:
                        yield _make_occurrence(NamedSymbol(kinds[name.text], name.text), name)


def _find_policy_names(item: syntax.Item, node: syntax_expr.SyntaxNode) -> Iterator[NameOccurrence]:
    """Yield the names of policies and rules in a statement."""
    match node:
        case syntax.ProfilePolicies(names=policies) | syntax.ExcludePolicies(names=policies):
            for name in policies:
                yield _make_occurrence(NamedSymbol("policy", name.text), name)
        case syntax.Disable(policy=policy, rule=rule):
            yield _make_occurrence(NamedSymbol("policy", policy.text), policy)
            if rule.text:
                yield _make_occurrence(NamedSymbol("rule", f"{policy.text}/{rule.text}"), rule)
        case syntax.Replicas(rule=syntax_expr.Value() as rule) if isinstance(item, syntax.Policy):
            yield _make_occurrence(NamedSymbol("rule", f"{item.name.text}/{rule.text}"), rule)
        case _:
            pass


def _iterate_names_in_syntax_node(node: syntax_expr.SyntaxNode) -> Iterator[syntax_expr.Value]:
    """Yield the names of lets, params and metrics in a node, but not in its children."""
    match node:
        case syntax_expr.Ref(name=name) | syntax_expr.SelectorRef(name=name):
            yield name
        case syntax_clause.AmountClause(amount=syntax_expr.Value() as amount):
            yield amount
        case syntax_clause.MissingClause(points=syntax_expr.Value() as amount):
            yield amount
        case syntax_clause.PlacedClause(duration=syntax_expr.Value() as amount):
            yield amount
        case syntax_clause.OverClause(duration=duration, argument=argument):
            yield from (
                each for each in (duration, argument) if isinstance(each, syntax_expr.Value)
            )
        case syntax_clause.BetweenClause(low=low, high=high):
            yield from (each for each in (low, high) if isinstance(each, syntax_expr.Value))
        case _:
            pass


def _find_query_params(query: syntax.PromQL) -> Iterator[NameOccurrence]:
    """Yield the params that a query uses."""
    first = query.span.start + 1
    for name, start, end in promql_params.locate_param_uses(query):
        behind = query.text.count("\n", 0, start)
        column = query.span.column + 1 + start
        if behind:
            column = start - query.text.rfind("\n", 0, start)
        span = source.Span(
            query.span.file, first + start, first + end, query.span.line + behind, column
        )
        yield NameOccurrence(NamedSymbol("param", name), span)


def _walk_naming_syntax_nodes(root: syntax_expr.SyntaxNode) -> Iterator[syntax_expr.SyntaxNode]:
    """Yield every node that can contain names, except resources and labels in arguments."""
    pending: list[object] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple):
            pending += node
        elif isinstance(node, syntax_expr.SyntaxNode):
            yield node
            pending += _list_child_syntax_nodes(node)


def _list_child_syntax_nodes(node: syntax_expr.SyntaxNode) -> list[object]:
    """Return the children of a node, without arguments that name resources or labels."""
    if isinstance(node, syntax_expr.Call):
        is_of_resource = node.function.text in _OF_RESOURCES
        is_strategy = node.function.text in vocabulary.STRATEGIES
        return [
            child
            for argument in node.arguments
            for child in (None if is_strategy else argument.key, argument.value)
            if not (is_of_resource and isinstance(child, syntax_expr.Ref))
        ]
    return [getattr(node, field.name) for field in dataclasses.fields(node)]
