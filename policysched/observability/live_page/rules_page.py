"""Describe the rules of profiles, for /debug/rules and the view of the policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from policysched.compiler.rules import base
from policysched.framework import profile
from policysched.observability.live_page import debug_forms, rule_counts


def list_rules(prof: profile.Profile) -> list[base.PolicyRule]:
    """Return the policy rules of a profile in the order in which they act, each once.

    A required `podAntiAffinity` is several plugins: one of them lets placed pods repel the pods of
    every profile, also of those that do not list the policy.
    """
    rules: dict[str, base.PolicyRule] = {}
    for plugin in prof.plugins:
        if isinstance(plugin, base.PolicyRule):
            rules.setdefault(plugin.head.name, plugin)
    return list(rules.values())


def make_rules_page(
    version_hash: str,
    since: str,
    profiles: Mapping[str, profile.Profile],
    counts: rule_counts.RuleCounts,
) -> debug_forms.RulesDocument:
    """Return the rules of all profiles, counted since the ISO 8601 time `since`."""
    return debug_forms.RulesDocument(
        version_hash,
        since,
        [
            debug_forms.ProfileRules(
                name, [_count_rule(rule, prof, counts) for rule in list_rules(prof)]
            )
            for name, prof in profiles.items()
        ],
    )


def describe_rules(prof: profile.Profile) -> list[dict[str, Any]]:
    """Return the policy rules of a profile in the order in which they act."""
    return [_describe_profile_rule(rule, prof) for rule in list_rules(prof)]


def _describe_profile_rule(rule: base.PolicyRule, prof: profile.Profile) -> dict[str, Any]:
    head = rule.head
    is_of_profile = head.policy in prof.policies
    return describe_rule(rule, prof.weights.get(head.name), is_of_profile=is_of_profile)


def describe_rule(
    rule: base.PolicyRule, weight: int | None, *, is_of_profile: bool = True
) -> dict[str, Any]:
    """Return the fields of `debug_forms.RuleCount` other than the counters."""
    head = rule.head
    return {
        "name": head.name,
        "policy": head.policy,
        "kind": head.kind,
        "text": head.text,
        "file": head.span.file,
        "line": head.span.line,
        "weight": weight,
        "isOfProfile": is_of_profile,
    }


def _count_rule(
    rule: base.PolicyRule, prof: profile.Profile, counts: rule_counts.RuleCounts
) -> debug_forms.RuleCount:
    key = prof.scheduler_name, rule.head.name
    counted = {"attempts": counts.attempts[key], "rejected": counts.nodes[key]}
    return msgspec.convert({**_describe_profile_rule(rule, prof), **counted}, debug_forms.RuleCount)
