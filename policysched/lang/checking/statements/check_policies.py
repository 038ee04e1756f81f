"""Check whole policies: descriptions, scopes, rules and disabled rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from policysched.lang.checked import checked, checked_selector
from policysched.lang.checking import diagnostic_collector, number_reading, symbols
from policysched.lang.checking.selectors import check_pod_sets
from policysched.lang.checking.statements import check_cluster_statements, check_rules
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import vocabulary

_IN_FORCE = "enforce"


def check_policy(
    policy: syntax.Policy,
    env: number_reading.NameEnvironment,
    names: symbols.PolicySymbols,
    parsed: Mapping[str, parser.ParseResult],
) -> checked.CheckedPolicy:
    """Return the policy or clusterPolicy without its invalid rules.

    Args:
        policy: the policy as written.
        env: resolves names with one set of params.
        names: all definitions.
        parsed: parse results keyed by text name; damaged policies may lack required statements.
    """
    is_cluster = policy.keyword == "clusterPolicy"
    env = dataclasses.replace(env, target="cluster" if is_cluster else "node")
    meta = _check_meta_statements(policy, env.found, is_cluster=is_cluster)
    scopes = [each for each in policy.statements if isinstance(each, syntax.Scope)]
    _check_policy_scopes(policy, scopes, env.found, parsed)
    _check_all_profiles(policy, env.found)
    scope = check_pod_sets.check_pod_scope(scopes[0], env) if scopes else None
    env = dataclasses.replace(env, scope=scope or checked_selector.EVERY_POD)
    good = tuple(
        rule
        for node in policy.statements
        for rule in check_rules.check_statement(policy.name.text, node, env)
    )
    _check_repeated_rules(good, env.found)
    return checked.CheckedPolicy(
        name=policy.name.text,
        mode=cast("Any", meta.get("mode", _IN_FORCE)),
        description=meta.get("description", ""),
        owner=meta.get("owner", ""),
        scope=scope or checked_selector.EVERY_POD,
        rules=good,
        disables=_check_disabled_rules(policy, names, env.found),
        span=policy.name.span,
        clusters=check_cluster_statements.check_cluster_placement(policy, good, env)
        if is_cluster
        else None,
        is_of_all_profiles=any(isinstance(s, syntax.AllProfiles) for s in policy.statements),
    )


def _check_meta_statements(
    policy: syntax.Policy, found: diagnostic_collector.DiagnosticCollector, *, is_cluster: bool
) -> dict[str, str]:
    """Return `description`, `owner` and `mode`, keyed by keyword; report repeated ones."""
    first: dict[str, syntax.Meta] = {}
    for node in policy.statements:
        if not isinstance(node, syntax.Meta):
            continue
        if node.keyword in first:
            _report_repeated_statement(found, node.keyword, node, first[node.keyword])
            continue
        first[node.keyword] = node
        if node.keyword == "mode" and node.value.text not in vocabulary.MODES:
            found.report_word_not_allowed("a policy mode", node.value, vocabulary.MODES)
        elif node.keyword == "mode" and is_cluster and node.value.text != _IN_FORCE:
            found.add_error(
                "PS108",
                f"a clusterPolicy cannot have `mode {node.value.text}`: shadow decisions are "
                "not supported for bindings",
                node.span,
                help="remove `mode`; `policysched plan` shows the effect of the policy",
            )
    return {keyword: node.value.text for keyword, node in first.items()}


def _check_all_profiles(
    policy: syntax.Policy, found: diagnostic_collector.DiagnosticCollector
) -> None:
    """Report a repeated `profiles all`."""
    written = [each for each in policy.statements if isinstance(each, syntax.AllProfiles)]
    for again in written[1:]:
        _report_repeated_statement(found, "profiles all", again, written[0])


def _report_repeated_statement(
    found: diagnostic_collector.DiagnosticCollector,
    what: str,
    node: syntax_expr.SyntaxNode,
    first: syntax_expr.SyntaxNode,
) -> None:
    """Report a statement that a policy must not have twice."""
    found.add_error(
        "PS108",
        f"`{what}` appears twice in this policy",
        node.span,
        secondary=(diagnostics.SpanLabel(first.span, "first here"),),
        help="keep one of them",
    )


def _check_policy_scopes(
    policy: syntax.Policy,
    scopes: list[syntax.Scope],
    found: diagnostic_collector.DiagnosticCollector,
    parsed: Mapping[str, parser.ParseResult],
) -> None:
    """Report a repeated or missing `for pods` or `for resources`."""
    about = "resources" if policy.keyword == "clusterPolicy" else "pods"
    for again in scopes[1:]:
        _report_repeated_statement(found, f"for {about}", again, scopes[0])
    is_damaged = parsed[policy.span.file].has_unparsed_part(policy.span)
    if not scopes and not is_damaged:
        found.add_error(
            "PS109",
            f"the policy `{policy.name.text}` has no statement `for {about}`",
            policy.name.span,
            help=f"add `for {about} where app = web`, or `for {about}` for all {about}",
        )


def _check_repeated_rules(
    rules: tuple[checked.Rule, ...], found: diagnostic_collector.DiagnosticCollector
) -> None:
    """Report identical rules without a name, which would get the same display name."""
    first: dict[str, checked.Rule] = {}
    for rule in rules:
        other = first.setdefault(rule.head.name, rule)
        if other is rule or rule.head.given_name is not None:
            continue
        found.add_error(
            "PS104",
            "this rule appears twice in the policy",
            rule.head.span,
            secondary=(diagnostics.SpanLabel(other.head.span, "first here"),),
            help="remove one of them; to count a score twice, double its weight",
        )


def _check_disabled_rules(
    policy: syntax.Policy,
    names: symbols.PolicySymbols,
    found: diagnostic_collector.DiagnosticCollector,
) -> tuple[checked.DisabledRule, ...]:
    """Return the rules that a policy disables; report names that it cannot disable."""
    disabled = []
    for node in policy.statements:
        if not isinstance(node, syntax.Disable):
            continue
        rules = names.rules.get(node.policy.text)
        if rules is None:
            found.report_undefined_name("policy", node.policy, names.policies)
        elif names.policies[node.policy.text].keyword != policy.keyword:
            other = names.policies[node.policy.text].keyword
            found.add_error(
                "PS108",
                f"a {policy.keyword} can only disable rules of a {policy.keyword}; "
                f"`{node.policy.text}` is a {other}",
                node.policy.span,
            )
        elif not node.rule.text:
            found.add_error(
                "PS109",
                "`disable` does not name a rule of the policy",
                node.span,
                help=f"write `disable {node.policy.text}.RULE`; `as` gives a rule its name",
            )
        elif node.rule.text not in rules:
            rule, written = node.rule.text.removesuffix(checked.OTHERWISE), node.policy.text
            advice = f"name the rule in `{written}` with `as {node.rule.text[:40]}`"
            if rule in rules:
                advice = f"write `disable {written}.{rule}`, which disables both weights"
            found.report_undefined_name(
                f"rule in `{written}` named", node.rule, rules, instead=advice
            )
        elif node.policy.text == policy.name.text:
            found.add_error("PS108", "a policy cannot disable its own rules", node.span)
        else:
            name = f"{node.policy.text}/{node.rule.text}"
            disabled.append(checked.DisabledRule(node.policy.text, name, node.span))
    return tuple(disabled)
