"""PS508: a toleration of taints that no node of the cluster has."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.compiler import node_masks
from policysched.lang import checked, diagnostics, spelling
from policysched.lint import rule, subject


def _check(about: subject.Subject) -> Iterator[diagnostics.Diagnostic]:
    cluster = about.cluster
    if cluster is None or not cluster.nodes:
        return
    taints = {taint for node in cluster.nodes for taint in node.spec.taints}
    keys = {taint.key for taint in taints}
    for policy in about.program.policies:
        for each in policy.rules:
            if not isinstance(each, checked.TolerateRule):
                continue
            for pattern in each.patterns:
                if not any(node_masks.taint_matches(pattern, taint) for taint in taints):
                    shown = " ".join(about.texts[pattern.span.file].slice(pattern.span).split())
                    yield diagnostics.Diagnostic(
                        "PS508",
                        f"no node of {cluster.name} has a taint that `{shown}` tolerates",
                        pattern.span,
                        help=spelling.did_you_mean(pattern.key, keys)
                        or "leave it out, unless nodes have the taint at other times",
                    )


RULE = rule.Rule("PS508", diagnostics.Severity.INFO, _check)
