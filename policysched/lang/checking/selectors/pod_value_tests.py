"""Find selectors of nodes that compare labels with values of the pod, and split them into tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from policysched.lang.checked import checked_expr, checked_selector
from policysched.lang.syntax import syntax, syntax_expr

Lets: TypeAlias = Mapping[str, syntax.LetExpr | syntax.LetSelector]


def has_pod_values(selector: syntax_expr.Selector, lets: Lets) -> bool:
    """Return whether a selector, or a let that it names, compares labels with values of the pod."""
    waiting, seen_lets = [selector], set[str]()
    while waiting:
        match waiting.pop():
            case syntax_expr.Requirement(pod_values=pod_values) if pod_values:
                return True
            case syntax_expr.SelectorAnd(operands=operands):
                waiting.extend(operands)
            case syntax_expr.SelectorOr(operands=operands):
                waiting.extend(operands)
            case syntax_expr.SelectorNot(operand=operand):
                waiting.append(operand)
            case syntax_expr.SelectorRef(name=name) if name.text not in seen_lets:
                seen_lets.add(name.text)
                let = lets.get(name.text)
                if isinstance(let, syntax.LetSelector):
                    waiting.append(let.selector)
            case _:
                pass
    return False


def split_node_test(test: syntax_expr.NodeTest, lets: Lets) -> syntax_expr.Expr:
    """Return a condition that is equal to `node(SELECTOR)`, with one test for each operand.

    A name of a let becomes a test of its selector; other selectors are not split.
    """

    def make_test(selector: syntax_expr.Selector) -> syntax_expr.NodeTest:
        return syntax_expr.NodeTest(selector.span, selector)

    match test.selector:
        case syntax_expr.SelectorAnd(operands=operands):
            return syntax_expr.ExprAnd(test.span, tuple(make_test(each) for each in operands))
        case syntax_expr.SelectorOr(operands=operands):
            return syntax_expr.ExprOr(test.span, tuple(make_test(each) for each in operands))
        case syntax_expr.SelectorNot(operand=operand):
            return syntax_expr.ExprNot(test.span, make_test(operand))
        case syntax_expr.SelectorRef(name=name):
            let = lets[name.text]
            if not isinstance(let, syntax.LetSelector):
                return test
            return syntax_expr.NodeTest(test.span, let.selector)
        case _:
            return test


def make_label_condition(label: checked_selector.ComparedLabel) -> checked_expr.TypedExpr:
    """Return the condition that the node has one of the values, or none of them."""
    span = label.span
    found: list[checked_expr.TypedExpr] = [
        checked_expr.NodeLabelIsPodValue(label.key, value, span) for value in label.pod_values
    ]
    if label.words:
        has_word = checked_selector.LabelRequirement(label.key, "In", label.words, span)
        found.append(checked_expr.NodeMatch(has_word, span))
    condition = found[0] if len(found) == 1 else checked_expr.Or(tuple(found), span)
    return checked_expr.Not(condition, span) if label.is_negated else condition
