"""Parse tree to syntax tree: words, selectors and expressions.

The builder's methods are named after the rules of grammar/policy.lark and are called leaves first
by `lark_frontend.transform_parse_tree`. Structure that the grammar allows and the language does not
is reported here where the tree would forget it: `and` mixed with `or`, nesting without end,
escapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from policysched.lang import source, text_limits
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import kept_parentheses, syntax_expr


class TokenLeaf(NamedTuple):
    """A token that is no word or number: a keyword or a sign."""

    kind: str
    text: str
    span: source.Span


Children = list[Any]
"""What the rule's symbols were built into; None for an optional part that was left out."""

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
    """The text is nested beyond `limits.MAX_DEPTH`.

    Attributes:
        span: of the node that is one too deep.
    """

    def __init__(self, span: source.Span) -> None:
        super().__init__(str(span))
        self.span = span


class ExprBuilder:
    """Builds words, selectors and expressions of one source text.

    Attributes:
        diagnostics: what was found on the way.
    """

    def __init__(self, text: source.SourceText) -> None:
        self.source = text
        self.diagnostics: list[diagnostics.Diagnostic] = []
        self._depths: dict[int, int] = {}
        self._grouped: set[int] = set()
        self._keep_alive: list[object] = []

    def visit(self, rule: str, start: int, end: int, children: Children) -> Any:  # noqa: ANN401 - each rule builds its own type
        """Build the node of `rule`, or the leaf of a terminal."""
        span = self.source.span(start, end)
        if rule[0].isupper() or rule[0] == "_":
            return self._build_leaf(rule, span, children[0])
        return getattr(self, rule)(span, children)

    def _build_leaf(self, terminal: str, span: source.Span, text: str) -> object:
        if terminal in ("WORD", "NAME"):
            return syntax_expr.Value(span, text)
        if terminal == "STRING":
            return syntax_expr.Value(span, self._unescape_string(span, text), quoted=True)
        if terminal == "NUMERAL":
            return syntax_expr.Numeral(span, text)
        return TokenLeaf(terminal, text, span)

    def _unescape_string(self, span: source.Span, literal: str) -> str:
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
        if char not in _ESCAPES:
            at = self.source.span(span.start + position - 1, span.start + position + 1)
            self.diagnostics.append(
                diagnostics.Diagnostic(
                    "PS003",
                    f"`\\{char}` is not an escape",
                    at,
                    help=("write `'`; " if char == "'" else "")
                    + 'strings know \\", \\\\, \\n and \\t',
                )
            )
        return _ESCAPES.get(char, char)

    def _note_depth(self, node: Any, children: Sequence[object]) -> Any:  # noqa: ANN401 - returns the node that it was given
        """Note the depth of a node; ids stay unique since every noted node is kept alive."""
        depth = 1 + max((self._depths.get(id(child), 0) for child in children), default=0)
        if depth > text_limits.MAX_DEPTH:
            raise NestingTooDeepError(node.span)
        self._depths[id(node)] = depth
        self._keep_alive.append(node)
        return node

    def _note_kept_parentheses(self, node: Any, operands: Sequence[object]) -> Any:  # noqa: ANN401 - as in `_nest`
        """Return a node that knows which parentheses around its operands stay."""
        grouped = tuple(id(each) in self._grouped for each in operands)
        return self._note_depth(
            kept_parentheses.mark_kept_parentheses(node, operands, grouped), operands
        )

    def _note_grouping_parentheses(self, inner: object) -> object:
        self._grouped.add(id(inner))
        self._keep_alive.append(inner)
        return inner

    def _check_mixed_connectives(self, operands: Sequence[Any], conjunction: type) -> None:
        for operand in operands:
            if isinstance(operand, conjunction) and id(operand) not in self._grouped:
                span: source.Span = operand.span  # type: ignore[attr-defined] # both conjunctions are nodes
                self.diagnostics.append(_make_mixed_operators_error(self.source, span))
                return

    # ------------------------------------------------------------------------ words

    def amount(self, span: source.Span, children: Children) -> syntax_expr.Amount:
        """Number, negative number or name."""
        last = children[-1]
        if isinstance(last, syntax_expr.Numeral) and len(children) > 1:
            return syntax_expr.Numeral(span, "-" + last.text)
        result: syntax_expr.Amount = last
        return result

    def constant(self, span: source.Span, children: Children) -> syntax_expr.Amount:
        """Number, negative number or string."""
        return self.amount(span, children)

    def value(self, span: source.Span, children: Children) -> syntax_expr.Value:
        """Word, string, or word behind a minus."""
        last: syntax_expr.Value = children[-1]
        return syntax_expr.Value(span, "-" + last.text) if len(children) > 1 else last

    def values(self, _span: source.Span, children: Children) -> tuple[syntax_expr.Value, ...]:
        """List in parentheses."""
        return tuple(child for child in children if child is not None)

    # ------------------------------------------------------------------------ selectors

    def subject(self, span: source.Span, children: Children) -> syntax_expr.Subject:
        """Key, or function of a key."""
        return syntax_expr.Subject(span, children[0], children[1])

    def requirement(self, span: source.Span, children: Children) -> syntax_expr.Requirement:
        """Subject, operator, values."""
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
        """Selector in parentheses: the tree has no node for them."""
        return self._note_grouping_parentheses(children[0])

    def sel_ref(self, span: source.Span, children: Children) -> syntax_expr.SelectorRef:
        """Name of a selector."""
        return syntax_expr.SelectorRef(span, children[0])

    def sel_and(self, span: source.Span, children: Children) -> object:
        """Conjunction."""
        return self._note_kept_parentheses(syntax_expr.SelectorAnd(span, tuple(children)), children)

    def sel_or(self, span: source.Span, children: Children) -> object:
        """Disjunction."""
        self._check_mixed_connectives(children, syntax_expr.SelectorAnd)
        return self._note_kept_parentheses(syntax_expr.SelectorOr(span, tuple(children)), children)

    def sel_not(self, span: source.Span, children: Children) -> object:
        """Negation."""
        return self._note_kept_parentheses(syntax_expr.SelectorNot(span, children[0]), children)

    def tainted(self, span: source.Span, children: Children) -> syntax_expr.Tainted:
        """Taint test."""
        return syntax_expr.Tainted(span, children[0])

    def taint_operator(self, _span: source.Span, children: Children) -> Children:
        """Operator and value, for `toleration`."""
        return children

    def toleration(self, span: source.Span, children: Children) -> syntax_expr.Toleration:
        """Key, operator, value, effect."""
        key, operation, effect = children
        if isinstance(key, TokenLeaf):
            key = syntax_expr.Value(key.span, key.text)
        operator = _OPERATORS[operation[0].kind] if operation else None
        value = operation[1] if operation and len(operation) > 1 else None
        return syntax_expr.Toleration(span, key, operator, value, effect)

    # ------------------------------------------------------------------------ expressions

    def number(self, span: source.Span, children: Children) -> syntax_expr.Number:
        """Literal."""
        return syntax_expr.Number(span, children[0])

    def text(self, span: source.Span, children: Children) -> syntax_expr.Text:
        """String."""
        return syntax_expr.Text(span, children[0])

    def ref(self, span: source.Span, children: Children) -> syntax_expr.Ref:
        """Name."""
        return syntax_expr.Ref(span, children[0])

    def expr_group(self, _span: source.Span, children: Children) -> object:
        """Expression in parentheses: the tree has no node for them."""
        return self._note_grouping_parentheses(children[0])

    def argument(self, span: source.Span, children: Children) -> object:
        """Argument, with or without a key."""
        first, second = children
        key, value = (None, first) if second is None else (first, second)
        return self._note_depth(syntax_expr.Argument(span, key, value), children)

    def arguments(self, _span: source.Span, children: Children) -> tuple[object, ...]:
        """All arguments of a call."""
        return tuple(children)

    def call(self, span: source.Span, children: Children) -> object:
        """Function call."""
        name, arguments = children
        return self._note_depth(syntax_expr.Call(span, name, arguments or ()), arguments or ())

    def node_test(self, span: source.Span, children: Children) -> object:
        """Selector on the node."""
        return self._note_depth(syntax_expr.NodeTest(span, children[1]), children)

    def cluster_test(self, span: source.Span, children: Children) -> object:
        """Selector on the cluster."""
        return self._note_depth(syntax_expr.ClusterTest(span, children[1]), children)

    def pod_test(self, span: source.Span, children: Children) -> object:
        """Selector on the pod."""
        return self._note_depth(syntax_expr.PodTest(span, children[1]), children)

    def negate(self, span: source.Span, children: Children) -> object:
        """Minus."""
        return self._note_kept_parentheses(syntax_expr.Negate(span, children[1]), children[1:])

    def binary(self, span: source.Span, children: Children) -> object:
        """Arithmetic."""
        left, operator, right = children
        return self._note_kept_parentheses(
            syntax_expr.Binary(span, operator.text, left, right), (left, right)
        )

    def else_(self, span: source.Span, children: Children) -> object:
        """Fallback."""
        return self._note_kept_parentheses(syntax_expr.Else(span, *children), children)

    def comparison(self, span: source.Span, children: Children) -> object:
        """Comparison."""
        left, operator, right = children
        sign = _OPERATORS.get(operator.kind, operator.text)
        node = syntax_expr.Comparison(span, sign, left, right, operator.span)
        return self._note_kept_parentheses(node, (left, right))

    def expr_and(self, span: source.Span, children: Children) -> object:
        """Conjunction."""
        return self._note_kept_parentheses(syntax_expr.ExprAnd(span, tuple(children)), children)

    def expr_or(self, span: source.Span, children: Children) -> object:
        """Disjunction."""
        self._check_mixed_connectives(children, syntax_expr.ExprAnd)
        return self._note_kept_parentheses(syntax_expr.ExprOr(span, tuple(children)), children)

    def expr_not(self, span: source.Span, children: Children) -> object:
        """Negation."""
        return self._note_kept_parentheses(syntax_expr.ExprNot(span, children[0]), children)


def _make_mixed_operators_error(
    text: source.SourceText, span: source.Span
) -> diagnostics.Diagnostic:
    edits = (
        diagnostics.TextEdit(text.span(span.start, span.start), "("),
        diagnostics.TextEdit(text.span(span.end, span.end), ")"),
    )
    return diagnostics.Diagnostic(
        "PS105",
        "`and` and `or` stand side by side without parentheses",
        span,
        help=f"write `({text.slice(span)})`, or put the parentheses where you mean them",
        fix=diagnostics.Fix(edits, safe=False),
    )
