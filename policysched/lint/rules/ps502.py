"""PS502: a label that no node of the cluster has."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang import checked, checked_selector, diagnostics, spelling
from policysched.lint import cluster_facts, rule, selector_sets, subject


def _check(about: subject.Subject) -> Iterator[diagnostics.Diagnostic]:
    cluster = about.cluster
    if cluster is None or not cluster.nodes:
        return
    for occurrence in about.occurrences:
        if occurrence.about != "nodes":
            continue
        for each in selector_sets.requirements(occurrence.selector):
            is_label = isinstance(each, checked_selector.LabelRequirement)
            if is_label and each.key not in cluster.node_labels:  # type: ignore[union-attr]  # a LabelRequirement
                yield _unknown(about, cluster, each)  # type: ignore[arg-type]  # as above
    for policy in about.program.policies:
        for rule_ in policy.rules:
            if isinstance(rule_, checked.PodAffinityRule | checked.TopologySpreadRule):
                yield from _topology(cluster, rule_)


def _unknown(
    about: subject.Subject,
    cluster: cluster_facts.ClusterFacts,
    each: checked_selector.LabelRequirement,
) -> diagnostics.Diagnostic:
    nearest = spelling.nearest(each.key, cluster.node_labels)
    text = about.texts[each.span.file]
    fix = None
    if nearest and text.text.startswith(each.key, each.span.start):
        span = text.span(each.span.start, each.span.start + len(each.key))
        fix = diagnostics.Fix((diagnostics.Edit(span, nearest[0]),), safe=False)
    return diagnostics.Diagnostic(
        "PS502",
        f"no node of {cluster.name} has the label `{each.key}`",
        each.span,
        help=spelling.did_you_mean(each.key, cluster.node_labels),
        fix=fix,
    )


def _topology(
    cluster: cluster_facts.ClusterFacts,
    each: checked.PodAffinityRule | checked.TopologySpreadRule,
) -> Iterator[diagnostics.Diagnostic]:
    found, total = cluster.nodes_with(each.topology_key), len(cluster.nodes)
    if found == total:
        return
    which = "no node" if not found else f"{found} of {total} nodes"
    effect = "this rule keeps pods off" if _is_hard(each) else "this rule does nothing for"
    yield diagnostics.Diagnostic(
        "PS502",
        f"{which} of {cluster.name} {'have' if found else 'has'} "
        f"the topologyKey `{each.topology_key}`",
        each.head.span,
        notes=(f"{effect} nodes without it",),
        help=spelling.did_you_mean(each.topology_key, cluster.node_labels) if not found else "",
    )


def _is_hard(each: checked.PodAffinityRule | checked.TopologySpreadRule) -> bool:
    is_anti = isinstance(each, checked.PodAffinityRule) and each.anti
    return each.weight is None and not is_anti


RULE = rule.Rule("PS502", diagnostics.Severity.WARNING, _check)
