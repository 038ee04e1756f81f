"""PS507: pods with a schedulerName that no profile has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input

_KUBE_SCHEDULER = "default-scheduler"


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each schedulerName of pods that no profile has."""
    cluster = about.cluster
    places = [profile.span for profile in about.program.profiles if profile.span is not None]
    if cluster is None or not places:
        return
    served = {profile.name for profile in about.program.profiles} | {_KUBE_SCHEDULER}
    asked = Counter(pod.spec.scheduler_name for pod, _ in cluster.pods)
    for name, count in sorted(asked.items()):
        if name not in served:
            yield diagnostics.Diagnostic(
                "PS507",
                f"{count} pod{'' if count == 1 else 's'} of {cluster.name} "
                f"name{'s' if count == 1 else ''} the scheduler `{name}`, "
                "but no profile has this name",
                places[0],
                notes=("unless another scheduler has that name, these pods stay Pending",),
                help=f"add `profile {name} {{ … }}`, or correct schedulerName",
            )


RULE = rule.LintRule("PS507", diagnostics.Severity.WARNING, _find_violations)
