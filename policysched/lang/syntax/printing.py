"""Print the syntax tree as canonical text, one line for each statement.

The formatter lays these lines out, and the checker derives names of unnamed rules from their hash.
Parentheses are printed if the tree needs them or nodes are marked (`kept_parentheses`). Operators
have their canonical spelling. Words stay quoted or unquoted, as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from policysched.lang.syntax import syntax, syntax_clause, syntax_expr

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_OPERAND_KEYWORDS = frozenset({"node", "not", "pod"})
"""Words that the lexer reads as keywords unless a character of a name follows."""
PRECEDENCE = {"+": 2, "-": 2, "*": 3, "/": 3}
_ELSE, _UNARY, _ATOM = 1, 4, 5


def format_string_literal(text: str) -> str:
    """Format a text as a string literal with escapes."""
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


def format_value(word: syntax_expr.Value) -> str:
    """Format a word, in quotes if it was written in quotes."""
    return format_string_literal(word.text) if word.quoted else word.text


def format_amount(number: syntax_expr.Amount) -> str:
    """Format a number, or the name or string in its place."""
    return number.text if isinstance(number, syntax_expr.Numeral) else format_value(number)


def format_value_list(words: Iterable[syntax_expr.Value]) -> str:
    """Format a list of words in parentheses."""
    return "(" + ", ".join(format_value(word) for word in words) + ")"


# ---------------------------------------------------------------------------- selectors


def format_selector(node: syntax_expr.Selector) -> str:
    """Format a selector on one line."""
    match node:
        case syntax_expr.SelectorAnd(operands=operands):
            return " and ".join(format_selector_operand(each) for each in operands)
        case syntax_expr.SelectorOr(operands=operands):
            return " or ".join(format_selector_operand(each) for each in operands)
        case syntax_expr.SelectorNot(operand=operand):
            return f"not {format_selector_operand(operand)}"
        case syntax_expr.SelectorRef(name=name):
            return format_value(name)
        case syntax_expr.Tainted(pattern=pattern):
            return f"tainted({format_taint_pattern(pattern)})"
        case syntax_expr.Requirement():
            return _format_requirement(node)
        case _:
            assert_never(node)


def format_selector_operand(node: syntax_expr.Selector) -> str:
    """Format a selector as an operand of `and`, `or` or `not`, in parentheses if needed."""
    is_compound = isinstance(node, (syntax_expr.SelectorAnd, syntax_expr.SelectorOr))
    return (
        f"({format_selector(node)})"
        if is_compound or keeps_parentheses(node)
        else format_selector(node)
    )


def keeps_parentheses(node: syntax_expr.SyntaxNode) -> bool:
    """Return whether an operand was written in parentheses that `fmt` keeps."""
    return isinstance(node, syntax_expr.Operation) and node.in_parentheses


def _format_requirement(node: syntax_expr.Requirement) -> str:
    subject = _format_subject(node.subject)
    values = [_format_requirement_value(each) for each in node.values]
    if node.operator in ("In", "NotIn"):
        return f"{subject} {node.operator} ({', '.join(values)})"
    return " ".join((subject, node.operator, *values))


def _format_subject(node: syntax_expr.Subject) -> str:
    argument = "" if node.argument is None else f"({format_value(node.argument)})"
    return format_value(node.name) + argument


def _format_requirement_value(node: syntax_expr.RequirementValue) -> str:
    if isinstance(node, syntax_expr.PodValue):
        return f"pod({_format_subject(node.subject)})"
    return format_value(node)


def format_taint_pattern(node: syntax_expr.Toleration) -> str:
    """Format a taint pattern of `tolerate` or `tainted`."""
    text = format_value(node.key)
    if node.operator == "=" and node.value is not None:
        text += f"={format_value(node.value)}"
    elif node.operator is not None:
        text += f" {node.operator}" + (f" {format_value(node.value)}" if node.value else "")
    return text + (f":{format_value(node.effect)}" if node.effect else "")


# ---------------------------------------------------------------------------- expressions


def format_expression(node: syntax_expr.Expr) -> str:
    """Format an expression on one line."""
    match node:
        case syntax_expr.ExprAnd(operands=operands):
            return " and ".join(format_condition_operand(each) for each in operands)
        case syntax_expr.ExprOr(operands=operands):
            return " or ".join(format_condition_operand(each) for each in operands)
        case syntax_expr.ExprNot(operand=operand):
            return f"not {format_condition_operand(operand)}"
        case syntax_expr.Comparison(operator=operator, left=left, right=right):
            return f"{format_compared_number(left)} {operator} {format_compared_number(right)}"
        case syntax_expr.Else(value=value, fallback=fallback):
            first = format_arithmetic_operand(value, _ELSE + 1)
            return f"{first} else {format_arithmetic_operand(fallback, _ELSE)}"
        case syntax_expr.Binary(operator=operator, left=left, right=right):
            level = PRECEDENCE[operator]
            first = format_arithmetic_operand(left, level)
            # In `pod- x`, the lexer reads a name and a minus; in `pod - x`, it would read the
            # keyword `pod`.
            blank = "" if first.rpartition(" ")[2].lstrip("(-") in _OPERAND_KEYWORDS else " "
            return f"{first}{blank}{operator} {format_arithmetic_operand(right, level + 1)}"
        case syntax_expr.Negate(operand=operand):
            return f"-{format_arithmetic_operand(operand, _UNARY)}"
        case _:
            return _format_atom(node)


def _format_atom(
    node: syntax_expr.Number
    | syntax_expr.Text
    | syntax_expr.Ref
    | syntax_expr.Call
    | syntax_expr.NodeTest
    | syntax_expr.ClusterTest
    | syntax_expr.PodTest
    | syntax_expr.PodCount,
) -> str:
    """Format an expression that never needs parentheses: a literal, a name, a call or a test."""
    match node:
        case syntax_expr.Number(numeral=numeral):
            return numeral.text
        case syntax_expr.Text(value=text):
            return format_value(text)
        case syntax_expr.Ref(name=name):
            return format_value(name)
        case syntax_expr.Call(function=function, arguments=given):
            return f"{format_value(function)}({format_arguments(given)})"
        case syntax_expr.NodeTest(selector=inner):
            return f"node({format_selector(inner)})"
        case syntax_expr.ClusterTest(selector=inner):
            return f"cluster({format_selector(inner)})"
        case syntax_expr.PodTest(selector=inner):
            return f"pod({format_selector(inner)})"
        case syntax_expr.PodCount():
            return _format_pod_count(node)
        case _:
            assert_never(node)


def _format_pod_count(node: syntax_expr.PodCount) -> str:
    return f"count({' '.join([format_pod_set(node.pods), *map(format_clause, node.clauses)])})"


def format_arguments(given: Iterable[syntax_expr.Argument]) -> str:
    """Format the arguments of a call, without parentheses."""
    return ", ".join(
        format_expression(each.value)
        if each.key is None
        else f"{format_expression(each.key)}: {format_expression(each.value)}"
        for each in given
    )


def format_condition_operand(node: syntax_expr.Expr) -> str:
    """Format an expression as an operand of `and`, `or` or `not`, in parentheses if needed."""
    is_compound = isinstance(node, (syntax_expr.ExprAnd, syntax_expr.ExprOr))
    return (
        f"({format_expression(node)})"
        if is_compound or keeps_parentheses(node)
        else format_expression(node)
    )


def format_compared_number(node: syntax_expr.Expr) -> str:
    """Format a side of a comparison, in parentheses if needed."""
    return format_arithmetic_operand(node, _ELSE)


def format_arithmetic_operand(node: syntax_expr.Expr, level: int) -> str:
    """Format an expression as an operand of a sign with the precedence `level`."""
    return (
        f"({format_expression(node)})"
        if _get_operator_precedence(node) < level or keeps_parentheses(node)
        else format_expression(node)
    )


def _get_operator_precedence(node: syntax_expr.Expr) -> int:
    """Return the precedence of an expression's outermost operator; conditions have 0."""
    match node:
        case syntax_expr.Else():
            return _ELSE
        case syntax_expr.Binary(operator=operator):
            return PRECEDENCE[operator]
        case syntax_expr.Negate():
            return _UNARY
        case (
            syntax_expr.Comparison()
            | syntax_expr.ExprAnd()
            | syntax_expr.ExprOr()
            | syntax_expr.ExprNot()
        ):
            return 0
        case _:
            return _ATOM


# ---------------------------------------------------------------------------- clauses


def format_clause(node: syntax_clause.Clause) -> str:
    """Format a clause on one line."""
    match node:
        case syntax_clause.AmountClause(amount=number):
            rest = format_amount(number)
        case syntax_expr.WordClause(word=word):
            rest = format_value(word)
        case syntax_expr.WordsClause():
            rest = _format_words(node)
        case syntax_clause.TextClause(text=text):
            rest = format_value(text)
        case syntax_expr.SelectorClause(selector=inner):
            rest = format_selector(inner)
        case syntax_clause.ExprClause(expr=inner):
            rest = format_expression(inner)
        case _:
            rest = _format_compound_clause(node)
    return f"{node.keyword} {rest}"


def _format_words(node: syntax_expr.WordsClause) -> str:
    if node.of_pod is not None:
        return _format_requirement_value(node.of_pod)
    return "all" if node.is_all else format_value_list(node.words)


def _format_compound_clause(
    node: syntax_clause.NormalizeClause
    | syntax_clause.MissingClause
    | syntax_clause.OverClause
    | syntax_clause.BetweenClause
    | syntax_clause.PlacedClause,
) -> str:
    """Format the values of a clause that has more than one value, without the keyword."""
    match node:
        case syntax_clause.NormalizeClause(method=method, arguments=given):
            return format_value(method) + (f"({format_arguments(given)})" if given else "")
        case syntax_clause.MissingClause(action=action, points=points):
            return format_value(action) + (
                f" {format_amount(points)}" if points is not None else ""
            )
        case syntax_clause.OverClause(duration=duration, function=function, argument=argument):
            level = f"({format_amount(argument)})" if argument is not None else ""
            return f"{format_amount(duration)} {format_value(function)}{level}"
        case syntax_clause.BetweenClause(low=low, high=high):
            return f"{format_amount(low)} and {format_amount(high)}"
        case syntax_clause.PlacedClause(expr=inner, duration=duration):
            return f"adds {format_expression(inner)} for {format_amount(duration)}"
        case _:
            assert_never(node)


# ---------------------------------------------------------------------------- statements


def format_statement(node: syntax.Statement) -> str:
    """Format a statement on one line."""
    return " ".join(format_head_and_clauses(node))


def format_head_and_clauses(node: syntax.Statement) -> list[str]:
    """Return the head of a statement and each of its clauses as texts."""
    match node:
        case syntax.Meta(keyword=keyword, value=word):
            return [f"{keyword} {format_value(word)}"]
        case syntax.AllProfiles() | syntax.Scope():
            return ["profiles all"] if isinstance(node, syntax.AllProfiles) else _format_scope(node)
        case syntax.NodeAffinity(strength=strength, selector=inner, clauses=clauses):
            return [
                f"nodeAffinity {strength} {format_selector(inner)}",
                *map(format_clause, clauses),
            ]
        case syntax.PodAffinity(kind=kind, strength=strength, pods=pods, clauses=clauses):
            return [f"{kind} {strength} {format_pod_set(pods)}", *map(format_clause, clauses)]
        case syntax.TopologySpread(pods=pods, clauses=clauses):
            head = "topologySpread" + (f" {format_pod_set(pods)}" if pods is not None else "")
            return [head, *map(format_clause, clauses)]
        case syntax.Tolerate(tolerations=patterns, clauses=clauses):
            return [
                "tolerate " + ", ".join(map(format_taint_pattern, patterns)),
                *map(format_clause, clauses),
            ]
        case syntax.Reject() | syntax.Score() | syntax.Preempt() | syntax.Protect():
            return [_format_other_head(node), *map(format_clause, node.clauses)]
        case syntax.Disable(policy=policy, rule=rule):
            return [f"disable {policy.text}" + (f".{rule.text}" if rule.text else "")]
        case _:
            return _format_cluster_statement(node)


def _format_other_head(
    node: syntax.Reject | syntax.Score | syntax.Preempt | syntax.Protect,
) -> str:
    """Format a statement without its clauses."""
    match node:
        case syntax.Reject(condition=condition):
            return f"reject when {format_expression(condition)}"
        case syntax.Score(value=number):
            return f"score {format_expression(number)}"
        case syntax.Preempt(pods=pods):
            return f"preempt {'never' if pods is None else format_pod_set(pods)}"
        case syntax.Protect():
            return "protect from preemption"
        case _:
            assert_never(node)


def _format_cluster_statement(
    node: syntax.ClusterAffinity | syntax.ClusterGroup | syntax.SpreadConstraint | syntax.Replicas,
) -> list[str]:
    """Return the head and the clauses of a clusterPolicy statement as texts."""
    match node:
        case syntax.ClusterAffinity(strength=strength, selector=inner, clauses=clauses):
            return [
                f"clusterAffinity {strength} {format_selector(inner)}",
                *map(format_clause, clauses),
            ]
        case syntax.ClusterGroup(name=name, selector=inner):
            return [f"clusterGroup {format_value(name)} where {format_selector(inner)}"]
        case syntax.SpreadConstraint(by=by, clauses=clauses):
            return [f"spreadConstraint by {format_value(by)}", *map(format_clause, clauses)]
        case syntax.Replicas():
            return [_format_replicas(node)]
        case _:
            assert_never(node)


def _format_scope(node: syntax.Scope) -> list[str]:
    """Return the parts of `for …`: the kind of objects, the namespaces and the selector."""
    parts = [f"for {node.keyword}"]
    if node.namespaces is not None:
        inner = node.namespaces.selector
        if inner is None:
            parts.append(f"in namespace {format_value_list(node.namespaces.names)}")
        else:
            parts.append(f"namespaceSelector {format_selector(inner)}")
    if node.where is not None:
        parts.append(f"where {format_selector(node.where)}")
    return parts


def format_pod_set(node: syntax_expr.PodSet) -> str:
    """Format the pod set of an affinity or spread rule."""
    return node.kind + (f" where {format_selector(node.where)}" if node.where is not None else "")


def _format_replicas(node: syntax.Replicas) -> str:
    """Format a `replicas` statement on one line."""
    if node.division == "Duplicated":
        return "replicas Duplicated"
    text = f"replicas Divided {node.division}"
    if node.weights:
        pairs = ", ".join(
            f"{format_value(name)}: {format_amount(weight)}" for name, weight in node.weights
        )
        return f"{text} ({pairs})"
    if node.dynamic == "score":
        return f"{text} by score" + (f" {format_value(node.rule)}" if node.rule else "")
    return f"{text} {node.dynamic}" if node.dynamic else text


# ---------------------------------------------------------------------------- profiles


def format_profile_statement(node: syntax.ProfileStatement) -> str:
    """Format a profile statement on one line."""
    match node:
        case syntax.ProfilePolicies(names=names):
            return "policies " + _join_names(names)
        case syntax.ExcludePolicies(names=names):
            return "exclude " + _join_names(names)
        case syntax.UsePlugin(name=name, weights=weights, args=args):
            parts = [
                f"plugin {format_value(name)}",
                *(f"weight {format_amount(each)}" for each in weights),
            ]
            return " ".join([*parts, *(f"args {format_args_value(each)}" for each in args)])
        case syntax.DisablePlugins(names=names, scores_only=scores_only):
            if not names:
                return "disable all scores"
            return "disable " + ("scores " if scores_only else "") + _join_names(names)
        case syntax.BuiltinWeight(weight=weight):
            return f"builtin weight {format_amount(weight)}"
        case syntax.OnOutage(action=action):
            return f"onOutage {format_value(action)}"
        case syntax.ProfileParam(name=name, value=constant):
            return f"param {format_value(name)} = {format_amount(constant)}"
        case _:
            assert_never(node)


def format_args_value(node: syntax.ArgsValue) -> str:
    """Format plugin arguments on one line."""
    match node:
        case syntax.ArgsObject(entries=entries):
            if not entries:
                return "{}"
            return (
                "{ "
                + ", ".join(
                    f"{format_value(key)}: {format_args_value(val)}" for key, val in entries
                )
                + " }"
            )
        case syntax.ArgsList(items=items):
            return "[" + ", ".join(format_args_value(item) for item in items) + "]"
        case syntax.ArgsScalar(value=scalar):
            return format_value(scalar)
        case _:
            assert_never(node)


def _join_names(names: Sequence[syntax_expr.Value]) -> str:
    return ", ".join(format_value(name) for name in names)
