"""The input of lint rules: a checked program, its texts, its selectors and queries."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from policysched.lang import source
from policysched.lang.checked import checked, checked_expr, checked_selector, rule_parts
from policysched.lang.checking.metrics import promql_params
from policysched.lang.parsing import parser, scanner
from policysched.lang.syntax import syntax
from policysched.lint import thresholds
from policysched.lint.facts import queries
from policysched.lint.policies import enforced_policy_rules
from policysched.lint.sets import contradictions

if TYPE_CHECKING:
    from policysched.lint.facts import (  # imports NumPy, which most runs do not need
        cluster_facts,
        prometheus_facts,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorUse:
    """A selector, and the kind of objects that it selects.

    Attributes:
        about: `pods`, `nodes` or `namespaces`; for a clusterPolicy, `resources`, `clusters` or
            `namespaces`, unless `clusters_as_nodes.substitute_clusters_for_nodes` has replaced
            them.
        policy: the policy that contains the selector.
        rule: the rule that contains the selector; None for the scope of the policy and for a
            cluster group.
    """

    selector: checked_selector.Selector
    about: str
    policy: checked.CheckedPolicy
    rule: checked.Rule | None


@dataclasses.dataclass(frozen=True)
class LintInput:
    """A program without errors, and the facts that lint rules can use.

    Attributes:
        program: the checked program.
        parsed: the parse result of each text.
        texts: the texts, keyed by name.
        cluster: the facts about a cluster, if one is given.
        prometheus: the facts from a Prometheus server, if one was queried.
        thresholds: the numeric limits of rules.
    """

    program: checked.CheckedProgram
    parsed: tuple[parser.ParseResult, ...]
    texts: Mapping[str, source.SourceText]
    cluster: cluster_facts.ClusterFacts | None = None
    prometheus: prometheus_facts.PrometheusFacts | None = None
    thresholds: thresholds.Thresholds = thresholds.DEFAULT

    @functools.cached_property
    def selector_uses(self) -> tuple[SelectorUse, ...]:
        """Every selector of every policy and clusterPolicy."""
        own = [each for policy in self.program.policies for each in find_selectors(policy)]
        others = [each for p in self.program.cluster_policies for each in find_selectors(p)]
        return (*(_translate_cluster_use_to_nodes(each) for each in own), *others)

    @functools.cached_property
    def contradictory_selectors(
        self,
    ) -> tuple[tuple[SelectorUse, contradictions.Contradiction], ...]:
        """Every selector that cannot match any object, with the contradiction."""
        return tuple(
            (each, found)
            for each in self.selector_uses
            for found in contradictions.find_contradictions(each.selector)
        )

    @functools.cached_property
    def enforced_rules(self) -> tuple[enforced_policy_rules.EnforcedPolicyRules, ...]:
        """The rules in force, for each profile."""
        return tuple(
            enforced_policy_rules.EnforcedPolicyRules(profile) for profile in self.program.profiles
        )

    @functools.cached_property
    def metric_queries(self) -> tuple[queries.MetricQuery, ...]:
        """The query of every metric that parses."""
        return tuple(queries.parse_metric_queries(self.program, self.parsed, self.texts))

    def format_selector(self, selector: checked_selector.Selector) -> str:
        """Return a selector as one line of text: requirements as written, and lets expanded."""
        match selector:
            case checked_selector.SelectorConjunction(operands=operands):
                return " and ".join(self._format_operand(each) for each in operands)
            case checked_selector.SelectorDisjunction(operands=operands):
                return " or ".join(self._format_operand(each) for each in operands)
            case checked_selector.SelectorNegation(operand=operand):
                return f"not {self._format_operand(operand)}"
            case _:
                return " ".join(self.texts[selector.span.file].slice(selector.span).split())

    def _format_operand(self, selector: checked_selector.Selector) -> str:
        is_compound = isinstance(
            selector, checked_selector.SelectorConjunction | checked_selector.SelectorDisjunction
        )
        return (
            f"({self.format_selector(selector)})" if is_compound else self.format_selector(selector)
        )

    def locate_selector(self, selector: checked_selector.Selector) -> source.Span:
        """Return the span from the first to the last requirement of a selector that is not empty.

        If the requirements are in several files, return the span of the first requirement.
        """
        spans = [each.span for each in checked_selector.walk_requirements(selector)]
        if any(each.file != spans[0].file for each in spans):
            return spans[0]
        start = min(each.start for each in spans)
        return self.texts[spans[0].file].span(start, max(each.end for each in spans))


def find_selectors(policy: checked.CheckedPolicy) -> Iterator[SelectorUse]:
    """Yield every selector of a policy or clusterPolicy."""
    if policy.clusters is None:
        yield from _find_rule_selectors(policy)
        return
    for each in _find_rule_selectors(policy):
        yield dataclasses.replace(each, about=_ACROSS_CLUSTERS[each.about])
    for group in policy.clusters.groups:
        yield SelectorUse(group.selector, "clusters", policy, None)


def _translate_cluster_use_to_nodes(occurrence: SelectorUse) -> SelectorUse:
    about = _ABOUT_NODES.get(occurrence.about)
    return dataclasses.replace(occurrence, about=about) if about else occurrence


_ABOUT_NODES = {"resources": "pods", "clusters": "nodes"}
_ACROSS_CLUSTERS = {"pods": "resources", "nodes": "clusters", "namespaces": "namespaces"}


def _find_rule_selectors(policy: checked.CheckedPolicy) -> Iterator[SelectorUse]:
    """Yield the selectors in the scope and rules of a policy."""
    yield from _find_namespace_selectors(policy.scope.namespaces, policy, None)
    yield SelectorUse(policy.scope.where, "pods", policy, None)
    for rule in policy.rules:
        if isinstance(rule, checked.NodeAffinityRule):
            yield SelectorUse(rule.selector, "nodes", policy, rule)
        yield from _find_expression_selectors(policy, rule)
        for pods in rule_parts.list_pod_selections(rule):
            yield from _find_namespace_selectors(pods.namespaces, policy, rule)
            if pods.selector is not None:
                yield SelectorUse(pods.selector, "pods", policy, rule)


def _find_namespace_selectors(
    namespaces: checked_selector.NamespaceSet | None,
    policy: checked.CheckedPolicy,
    rule: checked.Rule | None,
) -> Iterator[SelectorUse]:
    if namespaces is not None and namespaces.selector is not None:
        yield SelectorUse(namespaces.selector, "namespaces", policy, rule)


def _find_expression_selectors(
    policy: checked.CheckedPolicy, rule: checked.Rule
) -> Iterator[SelectorUse]:
    """Yield the selectors in the expressions of a rule."""
    for expr in rule_parts.list_rule_expressions(rule):
        for each in checked_expr.walk_expressions(expr):
            match each:
                case checked_expr.NodeMatch(selector=selector):
                    yield SelectorUse(selector, "nodes", policy, rule)
                case checked_expr.NodeLabelIsPodValue(key=key, span=span):
                    has_label = checked_selector.LabelRequirement(key, "Exists", (), span)
                    yield SelectorUse(has_label, "nodes", policy, rule)
                case checked_expr.PodMatch(selector=selector):
                    yield SelectorUse(selector, "pods", policy, rule)
                case _:
                    pass


def list_text_words(result: parser.ParseResult) -> Iterator[str]:
    """Yield the words of a text, without comments and strings, and the params in its queries."""
    for lexeme in scanner.LexemeScan(result.text).lexemes:
        if lexeme.kind == "word":
            yield lexeme.text
    for item in result.file.items:
        if isinstance(item, syntax.Metric):
            yield from promql_params.find_param_names(item.query)
