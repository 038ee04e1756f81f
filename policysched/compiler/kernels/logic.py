"""Kleene's three-valued logic: unknown decides only where the truth depends on it."""

from __future__ import annotations

from collections.abc import Sequence

from policysched.compiler import column


def all_of(operands: Sequence[column.Truths]) -> column.Truths:
    """Return the conjunction: false if any is false. Example: false and unknown is false."""
    is_true, is_false = operands[0]
    for operand in operands[1:]:
        is_true = is_true & operand.is_true
        is_false = is_false | operand.is_false
    return column.Truths(is_true, is_false)


def any_of(operands: Sequence[column.Truths]) -> column.Truths:
    """Return the disjunction: true if any is true. Example: true or unknown is true."""
    is_true, is_false = operands[0]
    for operand in operands[1:]:
        is_true = is_true | operand.is_true
        is_false = is_false & operand.is_false
    return column.Truths(is_true, is_false)


def negation(operand: column.Truths) -> column.Truths:
    """Return the negation; not unknown is unknown."""
    return column.Truths(operand.is_false, operand.is_true)
