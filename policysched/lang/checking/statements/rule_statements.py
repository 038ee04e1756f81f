"""The context in which a statement is checked as a rule, and what several kinds of rules need."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from policysched.lang.checked import checked
from policysched.lang.checking import clauses
from policysched.lang.syntax import kept_parentheses, printing, syntax, syntax_clause, syntax_expr

NO_POD_VALUE = "no label is compared with a value that the pod may lack"
"""Why `missing` has no effect."""
_HASH_DIGITS = 8


class RuleStatement(NamedTuple):
    """A statement with the context that its check needs.

    Attributes:
        policy: name of the policy.
        kind: keyword of the statement.
        node: the statement as written.
        own: the clauses of the statement.
    """

    policy: str
    kind: str
    node: syntax.Statement
    own: clauses.ClauseSet

    def make_rule_head(self) -> checked.RuleHead:
        """Build the head of the rule, with its name, text, message and active times."""
        text = printing.format_statement(kept_parentheses.strip_parentheses_marks(self.node))
        given = self.own.get_clause("as", syntax_expr.WordClause)
        name = given.word.text if given is not None else f"{self.kind}@{_hash_statement(text)}"
        return checked.RuleHead(
            name=f"{self.policy}/{name}",
            policy=self.policy,
            kind=self.kind,
            given_name=given.word.text if given is not None else None,
            text=text,
            message=self.own.read_message(),
            active=self.own.read_activation(),
            span=self.node.span,
            forbids_preemption=self.own.read_preemption_clause(),
        )


def _hash_statement(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]


def check_term_weight(strength: str, own: clauses.ClauseSet) -> tuple[bool, int | None]:
    """Return whether the weight is valid, and the weight, which is None for a required term."""
    if strength == "required":
        return True, None
    weight = own.read_weight()
    return weight is not None, weight


def check_no_missing_clause(own: clauses.ClauseSet, why: str) -> bool:
    """Return whether there is no `missing`; report one, which has no effect because of `why`."""
    clause = own.get_clause("missing", syntax_clause.MissingClause)
    if clause is not None:
        own.env.found.add_error(
            "PS108",
            f"`missing` has no effect: {why}",
            clause.span,
            help="remove it",
        )
    return clause is None


def check_no_preemption_clause(own: clauses.ClauseSet, why: str) -> bool:
    """Return whether there is no `preemption`; report one, which has no effect because of `why`."""
    clause = own.get_clause("preemption", syntax_expr.WordClause)
    if clause is not None:
        own.env.found.add_error(
            "PS108", f"`preemption` has no effect: {why}", clause.span, help="remove it"
        )
    return clause is None
