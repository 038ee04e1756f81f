"""The policies view: texts with the findings of the check, and the rules of each profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policysched.lang.words import syntax_words
from policysched.observability.live_page import rules_page
from policysched.offline import sessions
from policysched.page import page_source


def make_policies_page(view: page_source.ClusterView) -> dict[str, Any]:
    """Return the policy texts, their findings, and the rules in use."""
    policy_set = view.decider.policy_set
    return {
        "hash": policy_set.content_hash,
        "keywords": syntax_words.list_keywords(),
        "files": [{"name": each.name, "text": each.text} for each in view.policies],
        "findings": [
            {
                "file": each.span.file,
                "line": each.span.line,
                "column": each.span.column,
                "severity": each.severity.value,
                "code": each.code,
                "message": each.message,
                "help": each.help,
            }
            for each in policy_set.findings
        ],
        "profiles": [
            {
                "name": name,
                "rules": [
                    rules_page.describe_rule(rule, prof) for rule in rules_page.list_rules(prof)
                ],
            }
            for name, prof in view.decider.profiles.by_name.items()
        ],
    }


def iterate_rule_names(decider: sessions.PodDecider) -> Iterator[str]:
    """Yield the name (`POLICY/RULE`) of each rule of each profile."""
    for prof in decider.profiles.by_name.values():
        for rule in rules_page.list_rules(prof):
            yield rule.head.name
