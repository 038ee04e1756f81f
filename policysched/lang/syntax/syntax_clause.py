"""Define the abstract syntax of clauses; see policysched.lang.syntax.syntax.

A clause modifies a statement or a metric. `keyword` is the first word in the spelling of the
language. `ALLOWED_CLAUSES` in policysched.lang.words.syntax_words lists the clauses of each
statement.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

from policysched.lang.syntax import syntax_expr


@dataclasses.dataclass(frozen=True, slots=True)
class AmountClause(syntax_expr.SyntaxNode):
    """weight, otherwise, maxSkew, minDomains, minGroups, maxGroups, refresh, maxAge."""

    keyword: str
    amount: syntax_expr.Amount


@dataclasses.dataclass(frozen=True, slots=True)
class TextClause(syntax_expr.SyntaxNode):
    """message, during, expires."""

    keyword: str
    text: syntax_expr.Value


@dataclasses.dataclass(frozen=True, slots=True)
class ExprClause(syntax_expr.SyntaxNode):
    """until (hysteresis of a reject), fallback (of a metric)."""

    keyword: str
    expr: syntax_expr.Expr


@dataclasses.dataclass(frozen=True, slots=True)
class NormalizeClause(syntax_expr.SyntaxNode):
    """`normalize linear(0%, 90%)`, `normalize rank`."""

    keyword: str
    method: syntax_expr.Value
    arguments: tuple[syntax_expr.Argument, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class MissingClause(syntax_expr.SyntaxNode):
    """`missing allow`, `missing reject`, `missing score 50`."""

    keyword: str
    action: syntax_expr.Value
    points: syntax_expr.Amount | None


@dataclasses.dataclass(frozen=True, slots=True)
class OverClause(syntax_expr.SyntaxNode):
    """`over 10m max`, `over 10m quantile(0.95)`."""

    keyword: str
    duration: syntax_expr.Amount
    function: syntax_expr.Value
    argument: syntax_expr.Amount | None


@dataclasses.dataclass(frozen=True, slots=True)
class BetweenClause(syntax_expr.SyntaxNode):
    """`between 0% and 100%`: the valid range of a metric."""

    keyword: str
    low: syntax_expr.Amount
    high: syntax_expr.Amount


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedClause(syntax_expr.SyntaxNode):
    """`placed adds 0.85 * requests(cpu) / allocatable(cpu) for 90s`: load of recent placements."""

    keyword: str
    expr: syntax_expr.Expr
    duration: syntax_expr.Amount


Clause: TypeAlias = (
    AmountClause
    | syntax_expr.WordClause
    | syntax_expr.WordsClause
    | TextClause
    | syntax_expr.SelectorClause
    | ExprClause
    | NormalizeClause
    | MissingClause
    | OverClause
    | BetweenClause
    | PlacedClause
)
