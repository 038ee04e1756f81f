"""PS508: a taint that no node of the cluster has."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from policysched import spelling
from policysched.cluster.objects import objects
from policysched.compiler.nodes import node_masks
from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each tolerated or tested taint that no node has."""
    cluster = about.cluster
    if cluster is None or not cluster.nodes:
        return
    taints = {taint for node in cluster.nodes for taint in node.spec.taints}
    keys = {taint.key for taint in taints}
    for policy in about.program.policies:
        for each in policy.rules:
            for pattern in each.patterns if isinstance(each, checked.TolerationRule) else ():
                if not any(node_masks.taint_matches(pattern, taint) for taint in taints):
                    yield _make_finding(about, cluster, pattern, taints, "that `{}` tolerates")
    for pattern in _find_taint_patterns(about):
        # A condition can name a taint that nodes have only at times; a similar key suggests a typo.
        if pattern.key not in keys and spelling.find_nearest_names(pattern.key, keys):
            yield _make_finding(about, cluster, pattern, taints, "`{}`")


def _find_taint_patterns(about: rule_input.LintInput) -> Iterator[checked_selector.TaintPattern]:
    """Yield the patterns in `tainted(…)`, once for each place in the text."""
    tests = {
        each.pattern.span: each.pattern
        for occurrence in about.selector_uses
        if occurrence.about == "nodes"
        for each in checked_selector.walk_requirements(occurrence.selector)
        if isinstance(each, checked_selector.TaintRequirement)
    }
    yield from tests.values()


def _make_finding(
    about: rule_input.LintInput,
    cluster: cluster_facts.ClusterFacts,
    pattern: checked_selector.TaintPattern,
    taints: Collection[objects.Taint],
    which: str,
) -> diagnostics.Diagnostic:
    """Return the finding for a pattern; `which` describes the taint, with `{}` for the pattern."""
    shown = " ".join(about.texts[pattern.span.file].slice(pattern.span).split())
    return diagnostics.Diagnostic(
        "PS508",
        f"no node of {cluster.name} has a taint {which.format(shown)}",
        pattern.span,
        help=_suggest_taint(pattern, taints)
        or "remove the pattern, unless nodes sometimes have the taint",
    )


def _suggest_taint(
    pattern: checked_selector.TaintPattern, taints: Collection[objects.Taint]
) -> str:
    """Return the taints with the key of the pattern, or else similar keys; "" for neither."""
    alike = sorted(f"`{each}`" for each in taints if each.key == pattern.key)
    if alike:
        return f"nodes have {spelling.join_some_names(alike, spelling.MAX_SUGGESTIONS)}"
    return spelling.suggest_names(pattern.key, {each.key for each in taints})


RULE = rule.LintRule("PS508", diagnostics.Severity.INFO, _find_violations)
