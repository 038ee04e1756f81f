"""Check `preempt`: the pods that may be evicted, and its clauses."""

from __future__ import annotations

import dataclasses

from policysched.lang.checked import checked, checked_selector
from policysched.lang.checking.selectors import check_pod_sets
from policysched.lang.checking.statements import check_pod_rules, rule_statements
from policysched.lang.syntax import syntax, syntax_expr

_ALL_NAMESPACES = checked_selector.NamespaceSet((), checked_selector.EVERYTHING)


def check_preempt(
    node: syntax.Preempt, statement: rule_statements.RuleStatement
) -> checked.PreemptRule | None:
    """Check `preempt`; unlike other sets of pods, its set has all namespaces by default."""
    own = statement.own
    head = statement.make_rule_head()
    names = own.get_words_clause("namespaces")
    selector = own.get_clause("namespaceSelector", syntax_expr.SelectorClause)
    if node.pods is None:
        clause = names or selector
        if clause is not None:
            own.env.found.add_error(
                "PS108",
                f"`{clause.keyword}` has no effect: `preempt never` is about all pods",
                clause.span,
                help="remove it, or write `preempt pods where …`",
            )
        is_fine = rule_statements.check_no_missing_clause(own, rule_statements.NO_POD_VALUE)
        return checked.PreemptRule(head, None) if is_fine and clause is None else None
    victims = check_pod_sets.check_pod_selection(node.pods, own)
    if victims is None:
        return None
    if names is None and selector is None:
        victims = dataclasses.replace(victims, namespaces=_ALL_NAMESPACES)
    is_fine, action = check_pod_rules.check_missing_pod_values(
        statement, victims, ("reject", "allow")
    )
    return checked.PreemptRule(head, victims, action) if is_fine else None
