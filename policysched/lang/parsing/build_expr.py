"""Convert the parse tree to the syntax tree: words, selectors and expressions.

The methods of the builder have the names of the rules in grammar/policy.lark.
`lark_frontend.transform_parse_tree` calls them, leaves first. The builder reports errors that the
grammar accepts and the tree does not show: `and` mixed with `or`, nesting beyond the limit, and
invalid escapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from policysched.lang import source, text_limits
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import kept_parentheses, syntax_expr


class KeywordOrSign(NamedTuple):
    """A token that is neither a word nor a number: a keyword or a sign."""

    kind: str
    text: str
    span: source.Span


Children = list[Any]
"""The results for the symbols of a rule; None for an absent optional symbol."""

_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_OPERATORS: dict[str, Any] = {
    "IN": "In",
    "NOT_IN": "NotIn",
    "EXISTS": "Exists",
    "DOES_NOT_EXIST": "DoesNotExist",
    "GT": "Gt",
    "LT": "Lt",
    "EQUALS": "=",
    "NOT_EQUALS": "!=",
}


class NestingTooDeepError(Exception):
    """The text is nested deeper than `text_limits.MAX_DEPTH`.

    Attributes:
        span: range of the first node that is too deep.
    """

    def __init__(self, span: source.Span) -> None:
        super().__init__(str(span))
        self.span = span


class ExprBuilder:
    """Builds words, selectors and expressions of one source text.

    Attributes:
        diagnostics: the problems found so far.
    """

    def __init__(self, text: source.SourceText) -> None:
        self.source = text
        self.diagnostics: list[diagnostics.Diagnostic] = []
        self._depths: dict[int, int] = {}
        self._grouped: set[int] = set()
        self._keep_alive: list[object] = []

    def visit(self, rule: str, start: int, end: int, children: Children) -> Any:  # noqa: ANN401 - each rule builds its own type
        """Build the node for a grammar rule, or the leaf for a terminal."""
        span = self.source.span(start, end)
        if rule[0].isupper() or rule[0] == "_":
            return self._build_leaf(rule, span, children[0])
        return getattr(self, rule)(span, children)

    def _build_leaf(self, terminal: str, span: source.Span, text: str) -> object:
        if terminal in ("WORD", "NAME", "PARAM"):
            return syntax_expr.Value(span, text)
        if terminal == "STRING":
            return syntax_expr.Value(span, self._unescape_string(span, text), quoted=True)
        if terminal == "NUMERAL":
            return syntax_expr.Numeral(span, text)
        return KeywordOrSign(terminal, text, span)

    def _unescape_string(self, span: source.Span, literal: str) -> str:
        """Return the content of a string literal with its escapes resolved."""
        parts = []
        position = 1
        while position < len(literal) - 1:
            char = literal[position]
            if char == "\\":
                position += 1
                char = self._decode_escape(span, position, literal[position])
            parts.append(char)
            position += 1
        return "".join(parts)

    def _decode_escape(self, span: source.Span, position: int, char: str) -> str:
        """Return the character for an escape; report an invalid escape."""
        if char not in _ESCAPES:
            at = self.source.span(span.start + position - 1, span.start + position + 1)
            self.diagnostics.append(
                diagnostics.Diagnostic(
                    "PS003",
                    f"`\\{char}` is not an escape",
                    at,
                    help=("write `'`; " if char == "'" else "")
                    + 'the escapes in strings are \\", \\\\, \\n and \\t',
                )
            )
        return _ESCAPES.get(char, char)

    def _record_node_depth(self, node: Any, children: Sequence[object]) -> Any:  # noqa: ANN401 - returns the node that it was given
        """Record the depth of a node, and keep the node alive so that its id stays unique."""
        depth = 1 + max((self._depths.get(id(child), 0) for child in children), default=0)
        if depth > text_limits.MAX_DEPTH:
            raise NestingTooDeepError(node.span)
        self._depths[id(node)] = depth
        self._keep_alive.append(node)
        return node

    def _mark_kept_parentheses(self, node: Any, operands: Sequence[object]) -> Any:  # noqa: ANN401 - as in `_record_node_depth`
        """Mark the operands of a node that keep their parentheses in canonical text."""
        grouped = tuple(id(each) in self._grouped for each in operands)
        return self._record_node_depth(
            kept_parentheses.mark_kept_parentheses(node, operands, grouped), operands
        )

    def _record_grouping_parentheses(self, inner: object) -> object:
        self._grouped.add(id(inner))
        self._keep_alive.append(inner)
        return inner

    def _report_mixed_connectives(self, operands: Sequence[Any], conjunction: type) -> None:
        for operand in operands:
            if isinstance(operand, conjunction) and id(operand) not in self._grouped:
                span: source.Span = operand.span  # type: ignore[attr-defined] # both conjunctions are nodes
                self.diagnostics.append(_make_mixed_operators_error(self.source, span))
                return

    # ------------------------------------------------------------------------ words

    def amount(self, span: source.Span, children: Children) -> syntax_expr.Amount:
        """Build an amount from a number, a negative number or a name."""
        last = children[-1]
        if isinstance(last, syntax_expr.Numeral) and len(children) > 1:
            return syntax_expr.Numeral(span, "-" + last.text)
        result: syntax_expr.Amount = last
        return result

    def constant(self, span: source.Span, children: Children) -> syntax_expr.Amount:
        """Build a constant from a number, a negative number or a string."""
        return self.amount(span, children)

    def value(self, span: source.Span, children: Children) -> syntax_expr.Value:
        """Build a value from a word, a string, or a word after a minus sign."""
        last: syntax_expr.Value = children[-1]
        return syntax_expr.Value(span, "-" + last.text) if len(children) > 1 else last

    def values(
        self, _span: source.Span, children: Children
    ) -> tuple[syntax_expr.RequirementValue, ...]:
        """Return the values of a list in parentheses."""
        return tuple(child for child in children if child is not None)

    def pod_value(self, span: source.Span, children: Children) -> syntax_expr.PodValue:
        """Build a value of the incoming pod."""
        return syntax_expr.PodValue(span, children[0])

    # ------------------------------------------------------------------------ selectors

    def subject(self, span: source.Span, children: Children) -> syntax_expr.Subject:
        """Build a subject from a key, or from a function of a key."""
        return syntax_expr.Subject(span, children[0], children[1])

    def requirement(self, span: source.Span, children: Children) -> syntax_expr.Requirement:
        """Build a requirement from its subject, operator and values."""
        subject, operator, *rest = children
        values = rest[0] if rest else ()
        return syntax_expr.Requirement(
            span,
            subject,
            _OPERATORS.get(operator.kind, operator.text),
            values if isinstance(values, tuple) else (values,),
            operator.span,
        )

    def sel_group(self, _span: source.Span, children: Children) -> object:
        """Return the inner selector, because the tree has no node for parentheses."""
        return self._record_grouping_parentheses(children[0])

    def sel_ref(self, span: source.Span, children: Children) -> syntax_expr.SelectorRef:
        """Build a reference to a selector."""
        return syntax_expr.SelectorRef(span, children[0])

    def sel_and(self, span: source.Span, children: Children) -> object:
        """Build a conjunction."""
        return self._mark_kept_parentheses(syntax_expr.SelectorAnd(span, tuple(children)), children)

    def sel_or(self, span: source.Span, children: Children) -> object:
        """Build a disjunction."""
        self._report_mixed_connectives(children, syntax_expr.SelectorAnd)
        return self._mark_kept_parentheses(syntax_expr.SelectorOr(span, tuple(children)), children)

    def sel_not(self, span: source.Span, children: Children) -> object:
        """Build a negation."""
        return self._mark_kept_parentheses(syntax_expr.SelectorNot(span, children[0]), children)

    def tainted(self, span: source.Span, children: Children) -> syntax_expr.Tainted:
        """Build a taint test."""
        return syntax_expr.Tainted(span, children[0])

    def taint_operator(self, _span: source.Span, children: Children) -> Children:
        """Return the operator and the value for `toleration`."""
        return children

    def toleration(self, span: source.Span, children: Children) -> syntax_expr.Toleration:
        """Build a taint pattern from a key, an operator, a value and an effect."""
        key, operation, effect = children
        if isinstance(key, KeywordOrSign):
            key = syntax_expr.Value(key.span, key.text)
        operator = _OPERATORS[operation[0].kind] if operation else None
        value = operation[1] if operation and len(operation) > 1 else None
        return syntax_expr.Toleration(span, key, operator, value, effect)

    # ------------------------------------------------------------------------ expressions

    def number(self, span: source.Span, children: Children) -> syntax_expr.Number:
        """Build a literal number."""
        return syntax_expr.Number(span, children[0])

    def text(self, span: source.Span, children: Children) -> syntax_expr.Text:
        """Build a string argument."""
        return syntax_expr.Text(span, children[0])

    def ref(self, span: source.Span, children: Children) -> syntax_expr.Ref:
        """Build a reference to a name."""
        return syntax_expr.Ref(span, children[0])

    def expr_group(self, _span: source.Span, children: Children) -> object:
        """Return the inner expression, because the tree has no node for parentheses."""
        return self._record_grouping_parentheses(children[0])

    def argument(self, span: source.Span, children: Children) -> object:
        """Build an argument of a call from its optional key and its value."""
        first, second = children
        key, value = (None, first) if second is None else (first, second)
        return self._record_node_depth(syntax_expr.Argument(span, key, value), children)

    def arguments(self, _span: source.Span, children: Children) -> tuple[object, ...]:
        """Return all arguments of a call."""
        return tuple(children)

    def call(self, span: source.Span, children: Children) -> object:
        """Build a function call."""
        name, arguments = children
        return self._record_node_depth(
            syntax_expr.Call(span, name, arguments or ()), arguments or ()
        )

    def node_test(self, span: source.Span, children: Children) -> object:
        """Build a condition on the node."""
        return self._record_node_depth(syntax_expr.NodeTest(span, children[1]), children)

    def cluster_test(self, span: source.Span, children: Children) -> object:
        """Build a condition on the cluster."""
        return self._record_node_depth(syntax_expr.ClusterTest(span, children[1]), children)

    def pod_test(self, span: source.Span, children: Children) -> object:
        """Build a condition on the pod."""
        return self._record_node_depth(syntax_expr.PodTest(span, children[1]), children)

    def pod_count(self, span: source.Span, children: Children) -> object:
        """Build a number of pods from its set of pods and clauses."""
        pods, *clauses = children
        return self._record_node_depth(syntax_expr.PodCount(span, pods, tuple(clauses)), children)

    def negate(self, span: source.Span, children: Children) -> object:
        """Build a negated number."""
        return self._mark_kept_parentheses(syntax_expr.Negate(span, children[1]), children[1:])

    def binary(self, span: source.Span, children: Children) -> object:
        """Build an arithmetic operation."""
        left, operator, right = children
        return self._mark_kept_parentheses(
            syntax_expr.Binary(span, operator.text, left, right), (left, right)
        )

    def else_(self, span: source.Span, children: Children) -> object:
        """Build a value with a fallback."""
        return self._mark_kept_parentheses(syntax_expr.Else(span, *children), children)

    def comparison(self, span: source.Span, children: Children) -> object:
        """Build a comparison."""
        left, operator, right = children
        sign = _OPERATORS.get(operator.kind, operator.text)
        node = syntax_expr.Comparison(span, sign, left, right, operator.span)
        return self._mark_kept_parentheses(node, (left, right))

    def expr_and(self, span: source.Span, children: Children) -> object:
        """Build a conjunction."""
        return self._mark_kept_parentheses(syntax_expr.ExprAnd(span, tuple(children)), children)

    def expr_or(self, span: source.Span, children: Children) -> object:
        """Build a disjunction."""
        self._report_mixed_connectives(children, syntax_expr.ExprAnd)
        return self._mark_kept_parentheses(syntax_expr.ExprOr(span, tuple(children)), children)

    def expr_not(self, span: source.Span, children: Children) -> object:
        """Build a negation."""
        return self._mark_kept_parentheses(syntax_expr.ExprNot(span, children[0]), children)


def _make_mixed_operators_error(
    text: source.SourceText, span: source.Span
) -> diagnostics.Diagnostic:
    """Return the error for `and` and `or` at one level, with a fix that adds parentheses."""
    edits = (
        diagnostics.TextEdit(text.span(span.start, span.start), "("),
        diagnostics.TextEdit(text.span(span.end, span.end), ")"),
    )
    return diagnostics.Diagnostic(
        "PS105",
        "`and` and `or` are mixed without parentheses",
        span,
        help=f"write `({text.slice(span)})`, or place the parentheses as intended",
        fix=diagnostics.Fix(edits, safe=False),
    )
