"""PS505: pods of DaemonSets that a required node affinity keeps off their node."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.cluster.objects import objects
from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each enforced policy with a required rule that matches DaemonSet pods."""
    cluster = about.cluster
    if cluster is None:
        return
    for policy in about.program.policies:
        required = next((each for each in policy.rules if _is_required(each)), None)
        if required is None or policy.mode != "enforce":
            continue
        pods = [pod.key for pod in cluster.list_pods_of_policy(policy) if _is_of_daemon_set(pod)]
        if pods:
            others = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
            yield diagnostics.Diagnostic(
                "PS505",
                f"`{policy.name}` also matches pods of DaemonSets: `{pods[0]}`{others}",
                policy.span,
                secondary=(diagnostics.SpanLabel(required.head.span, "keeps them off nodes"),),
                notes=(
                    (
                        "each pod of a DaemonSet is meant for one node, and stays Pending if it "
                        "cannot run there"
                    ),
                ),
                help="exclude them: `where ownerKind != DaemonSet`",
            )


def _is_required(each: checked.Rule) -> bool:
    return isinstance(each, checked.NodeAffinityRule) and each.weight is None


def _is_of_daemon_set(pod: objects.Pod) -> bool:
    owners = pod.metadata.owner_references
    return any(owner.controller and owner.kind == "DaemonSet" for owner in owners)


RULE = rule.LintRule("PS505", diagnostics.Severity.WARNING, _find_violations)
