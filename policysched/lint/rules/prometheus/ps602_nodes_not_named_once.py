"""PS602: an answer without exactly one series for each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from policysched.cluster.objects import node_aliases
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts, prometheus_facts, queries

_SHOWN = 3


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each answer with ambiguous or unknown nodes, or without some nodes."""
    facts = about.prometheus
    if facts is None:
        return
    for each in about.metric_queries:
        answer = facts.queries.get(each.query.text)
        if answer is None or not answer.series:
            continue
        problem = _describe_series_label_problem(each, answer)
        cluster = about.cluster
        if cluster is not None and each.metric.target == "cluster":
            cluster = cluster.members
        if not problem and cluster is not None:
            problem = _describe_nodes_without_series(each, answer, cluster)
        if problem:
            yield diagnostics.Diagnostic(
                "PS602",
                problem,
                each.span,
                notes=("nodes without exactly one series have no value",),
                help=(
                    "docs/metrics.md describes how series name nodes; relabel the series, or "
                    "join another series"
                ),
            )


def _describe_series_label_problem(
    each: queries.MetricQuery, answer: prometheus_facts.QueryFacts
) -> str:
    """Return the problem with the values of the label that identifies nodes, or ""."""
    label = each.metric.label
    named = Counter(series.labels.get(label, "") for series in answer.series)
    without = named.pop("", 0)
    if without:
        total = len(answer.series)
        return f"{without} of {total} series of `{each.metric.name}` have no label `{label}`"
    several = [value for value, count in named.items() if count > 1]
    if several:
        shown = f'`{label}="{several[0]}"`'
        return f"`{each.metric.name}` has {named[several[0]]} series with {shown}, not one"
    return ""


def _describe_nodes_without_series(
    each: queries.MetricQuery,
    answer: prometheus_facts.QueryFacts,
    cluster: cluster_facts.ClusterFacts,
) -> str:
    """Return a message about nodes without a series, or "" if all nodes have one."""
    names = node_aliases.NodeAliasIndex(cluster.nodes)
    texts = {series.labels.get(each.metric.label, "") for series in answer.series}
    found = {text: names.find_nodes(text) for text in texts}
    covered = {node for nodes in found.values() if len(nodes) == 1 for node in nodes}
    missing = sorted({node.name for node in cluster.nodes} - covered)
    if not missing:
        return ""
    shown = _join_node_names(missing)
    if covered:
        return (
            f"`{each.metric.name}` has no series for {len(missing)} of {len(names)} nodes: {shown}"
        )
    value = min(texts)
    return (
        f"`{each.metric.label}` of `{each.metric.name}` names none of the nodes of "
        f"{cluster.name}: its value is `{value}`, but the names are {shown}"
    )


def _join_node_names(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


RULE = rule.LintRule("PS602", diagnostics.Severity.WARNING, _find_violations)
