"""Describe the rules of profiles, for /debug/rules and the view of the policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from policysched.compiler.pods import scope
from policysched.compiler.rules import base, tolerate
from policysched.framework import profile
from policysched.lang.checked import checked
from policysched.observability.live_page import debug_forms, lead_counts, rule_counts


def list_rules(prof: profile.Profile) -> list[checked.RuleHead]:
    """Return the policy rules of a profile in the order in which they act, each once.

    `tolerate` comes first, because it adds to a pod what filters read. A required
    `podAntiAffinity` is several plugins: one of them lets placed pods repel the pods of every
    profile, also of those that do not list the policy.
    """
    rules: dict[str, checked.RuleHead] = {}
    for head, _ in list_scopes(prof):
        rules.setdefault(head.name, head)
    return list(rules.values())


def list_scopes(prof: profile.Profile) -> list[tuple[checked.RuleHead, scope.RuleScope]]:
    """Return the rules of `list_rules` with the pods that they act on; a rule may repeat."""
    granting = prof.tolerations
    rules = granting.rules if isinstance(granting, tolerate.PolicyTolerations) else ()
    acting = [each for each in prof.plugins if isinstance(each, base.PolicyRule)]
    return [(each.head, each.scope) for each in rules] + [
        (each.head, each.scope) for each in acting
    ]


def make_rules_page(
    version_hash: str,
    since: str,
    profiles: Mapping[str, profile.Profile],
    counts: rule_counts.RuleCounts,
    leads: lead_counts.LeadCounts,
) -> debug_forms.RulesDocument:
    """Return the rules of all profiles, counted since the ISO 8601 time `since`."""
    return debug_forms.RulesDocument(
        version_hash,
        since,
        [
            debug_forms.ProfileRules(
                name,
                [_count_rule(head, prof, counts, leads) for head in list_rules(prof)],
                leads.compared[name],
            )
            for name, prof in profiles.items()
        ],
    )


def describe_rules(prof: profile.Profile) -> list[dict[str, Any]]:
    """Return the policy rules of a profile in the order in which they act."""
    return [_describe_profile_rule(head, prof) for head in list_rules(prof)]


def _describe_profile_rule(head: checked.RuleHead, prof: profile.Profile) -> dict[str, Any]:
    is_of_profile = head.policy in prof.policies
    return describe_rule(head, prof.weights.get(head.name), is_of_profile=is_of_profile)


def describe_rule(
    head: checked.RuleHead, weight: int | None, *, is_of_profile: bool = True
) -> dict[str, Any]:
    """Return the fields of `debug_forms.RuleCount` other than the counters."""
    return {
        "name": head.name,
        "policy": head.policy,
        "kind": head.kind,
        "text": head.text,
        "file": head.span.file,
        "line": head.span.line,
        "column": head.span.column,
        "length": head.span.end - head.span.start,
        "weight": weight,
        "isOfProfile": is_of_profile,
    }


def _count_rule(
    head: checked.RuleHead,
    prof: profile.Profile,
    counts: rule_counts.RuleCounts,
    leads: lead_counts.LeadCounts,
) -> debug_forms.RuleCount:
    key = prof.scheduler_name, head.name
    counted = {
        "attempts": counts.attempts[key],
        "rejected": counts.nodes[key],
        "led": leads.led[key],
    }
    return msgspec.convert({**_describe_profile_rule(head, prof), **counted}, debug_forms.RuleCount)
