"""PS502: a label, annotation or condition that no node of the cluster has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

from policysched import spelling
from policysched.lang.checked import checked, checked_expr, checked_selector, rule_parts
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts

_KeyRequirement: TypeAlias = (
    checked_selector.LabelRequirement
    | checked_selector.AnnotationRequirement
    | checked_selector.ConditionRequirement
)
_ABSENCES = frozenset({"DoesNotExist", "NotIn"})
"""The operators that match nodes without the key."""


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each unknown key in selectors and topology keys."""
    cluster = about.cluster
    if cluster is None or not cluster.nodes:
        return
    for occurrence in about.selector_uses:
        if occurrence.about != "nodes":
            continue
        is_refused = _are_matching_nodes_refused(occurrence.rule)
        for each, is_denied in _iterate_key_requirements(occurrence.selector, is_denied=is_refused):
            _, key, known = _find_known_keys(cluster, each)
            if known is None or key in known:
                continue
            # A rule that permits nodes without the key can be right even if no node has it, so
            # only a likely typo is reported.
            is_absence = (each.operator in _ABSENCES) is not is_denied
            if not is_absence or spelling.find_nearest_names(key, known):
                yield _diagnose_unknown_key(about, cluster, each)
    for policy in about.program.policies:
        for rule_ in policy.rules:
            if isinstance(rule_, checked.PodAffinityRule | checked.TopologySpreadRule):
                yield from _find_unknown_topology_keys(cluster, rule_)
            yield from _find_unknown_keys_of_counts(cluster, rule_)


def _are_matching_nodes_refused(each: checked.Rule | None) -> bool:
    """Return whether a rule certainly rejects the nodes that its selectors match."""
    return isinstance(each, checked.RejectRule) and not any(
        isinstance(part, checked_expr.Not) for part in checked_expr.walk_expressions(each.condition)
    )


def _find_known_keys(
    cluster: cluster_facts.ClusterFacts, each: _KeyRequirement
) -> tuple[str, str, Collection[str] | None]:
    """Return what a requirement reads, its key, and the keys of the nodes.

    None instead of keys means that the listing has no conditions or annotations at all.
    """
    match each:
        case checked_selector.LabelRequirement(key=key):
            return "label", key, cluster.node_labels
        case checked_selector.AnnotationRequirement(key=key):
            return "annotation", key, cluster.node_annotations or None
        case checked_selector.ConditionRequirement(condition=condition):
            return "condition", condition, cluster.node_conditions or None


def _iterate_key_requirements(
    selector: checked_selector.Selector, *, is_denied: bool
) -> Iterator[tuple[_KeyRequirement, bool]]:
    """Yield each requirement on a key, and whether the rule avoids nodes that meet it."""
    match selector:
        case (
            checked_selector.SelectorConjunction(operands=operands)
            | checked_selector.SelectorDisjunction(operands=operands)
        ):
            for operand in operands:
                yield from _iterate_key_requirements(operand, is_denied=is_denied)
        case checked_selector.SelectorNegation(operand=operand):
            yield from _iterate_key_requirements(operand, is_denied=not is_denied)
        case (
            checked_selector.LabelRequirement()
            | checked_selector.AnnotationRequirement()
            | checked_selector.ConditionRequirement()
        ):
            yield selector, is_denied
        case _:
            pass


def _diagnose_unknown_key(
    about: rule_input.LintInput,
    cluster: cluster_facts.ClusterFacts,
    each: _KeyRequirement,
) -> diagnostics.Diagnostic:
    """Return the finding for an unknown key, with a fix to the most similar key."""
    what, key, known = _find_known_keys(cluster, each)
    nearest = spelling.find_nearest_names(key, known or ())
    text = about.texts[each.span.file]
    fix = None
    start = text.text.find(key, each.span.start, each.span.end)
    if nearest and start >= 0:
        span = text.span(start, start + len(key))
        fix = diagnostics.Fix((diagnostics.TextEdit(span, nearest[0]),), safe=False)
    return diagnostics.Diagnostic(
        "PS502",
        f"no node of {cluster.name} has the {what} `{key}`",
        each.span,
        help=spelling.suggest_names(key, known or ()),
        fix=fix,
    )


def _find_unknown_topology_keys(
    cluster: cluster_facts.ClusterFacts,
    each: checked.PodAffinityRule | checked.TopologySpreadRule,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if some nodes lack the topology key of a rule."""
    found, total = cluster.count_nodes_with_label(each.topology_key), len(cluster.nodes)
    if found == total:
        return
    which = "no node" if not found else f"{found} of {total} nodes"
    effect = (
        "this rule keeps pods off"
        if _keeps_pods_off_unlabelled_nodes(each)
        else "this rule does nothing for"
    )
    yield diagnostics.Diagnostic(
        "PS502",
        f"{which} of {cluster.name} {'have' if found else 'has'} "
        f"the topologyKey `{each.topology_key}`",
        each.head.span,
        notes=(f"{effect} nodes without it",),
        help=spelling.suggest_names(each.topology_key, cluster.node_labels) if not found else "",
    )


def _find_unknown_keys_of_counts(
    cluster: cluster_facts.ClusterFacts, each: checked.Rule
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if no node has the topologyKey of a `count(…)`.

    Nodes that lack it are no finding: the rule says what they get.
    """
    for expr in rule_parts.list_rule_expressions(each):
        for part in checked_expr.walk_expressions(expr):
            if not isinstance(part, checked_expr.PlacedPodCount) or part.topology_key is None:
                continue
            if not cluster.count_nodes_with_label(part.topology_key):
                yield diagnostics.Diagnostic(
                    "PS502",
                    f"no node of {cluster.name} has the topologyKey `{part.topology_key}`",
                    part.span,
                    notes=("the number is missing on every node",),
                    help=spelling.suggest_names(part.topology_key, cluster.node_labels),
                )


def _keeps_pods_off_unlabelled_nodes(
    each: checked.PodAffinityRule | checked.TopologySpreadRule,
) -> bool:
    is_anti = isinstance(each, checked.PodAffinityRule) and each.anti
    return each.weight is None and not is_anti


RULE = rule.LintRule("PS502", diagnostics.Severity.WARNING, _find_violations)
