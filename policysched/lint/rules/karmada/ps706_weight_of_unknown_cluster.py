"""PS706: a weight for a cluster that the control plane does not have."""

from __future__ import annotations

from collections.abc import Iterator

from policysched import spelling
from policysched.lang.checked import checked_cluster
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each division with weights of unknown clusters."""
    members = about.cluster.members if about.cluster is not None else None
    if members is None:
        return
    names = frozenset(cluster.name for cluster in members.nodes)
    for policy in about.program.cluster_policies:
        division = policy.clusters.division if policy.clusters else None
        if division is not None:
            yield from _diagnose_unknown_clusters(division, members.name, names)


def _diagnose_unknown_clusters(
    division: checked_cluster.ReplicaDivisionStrategy, where: str, names: frozenset[str]
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if a division assigns weights to clusters that `names` lacks."""
    unknown = [name for name, _ in division.weights if name not in names]
    if not unknown or division.span is None:
        return
    shown = ", ".join(f"`{name}`" for name in unknown)
    hints = (spelling.suggest_names(name, names) for name in unknown)
    are_all = len(unknown) == len(division.weights)
    yield diagnostics.Diagnostic(
        "PS706",
        f"{where} has no cluster {shown}",
        division.span,
        notes=(
            "no cluster has a weight, so all clusters that pass get equal shares"
            if are_all
            else "its share goes to the other clusters",
        ),
        help=next((hint for hint in hints if hint), "correct the name, or remove it"),
    )


RULE = rule.LintRule("PS706", diagnostics.Severity.WARNING, _find_violations)
