"""Restrict warnings and metrics to the profile that `--scheduler-name` selects for all pods."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax

if TYPE_CHECKING:
    from policysched.profiles import policies


def make_other_profile_finding_dropper(
    scheduler_name: str | None,
) -> Callable[[checker.CheckResult], checker.CheckResult]:
    """Return a filter that drops warnings about other profiles; without a name, it drops none."""
    return functools.partial(_drop_findings_of_other_profiles, scheduler_name=scheduler_name)


def list_profile_node_metrics(
    policy_set: policies.PolicySet, scheduler_name: str | None
) -> list[checked.CheckedMetric]:
    """Return the node metrics that the named profile reads.

    If no name is given, or no profile with this name is declared, return all node metrics.
    """
    profile = _find_declared_profile(policy_set.program, scheduler_name)
    return policy_set.node_metrics if profile is None else list(profile.metrics)


def _find_declared_profile(
    program: checked.CheckedProgram | None, scheduler_name: str | None
) -> checked.CheckedProfile | None:
    """Return the declared profile with this name; None without a name or for an implied profile."""
    profiles = program.profiles if program is not None and scheduler_name is not None else ()
    return next((each for each in profiles if each.name == scheduler_name), None)


def _drop_findings_of_other_profiles(
    result: checker.CheckResult, scheduler_name: str | None
) -> checker.CheckResult:
    """Drop findings in policies and metrics that the named profile does not have."""
    profile = _find_declared_profile(result.program, scheduler_name)
    if profile is None:
        return result
    policies = (*profile.policies, *profile.cluster_policies)
    metrics = (*profile.metrics, *profile.cluster_metrics)
    names = {each.name for each in policies} | {each.name for each in metrics}
    kept = tuple(
        each
        for each in result.diagnostics
        if _is_finding_not_about_others(each, names, result.parsed)
    )
    return dataclasses.replace(result, diagnostics=kept)


def _is_finding_not_about_others(
    finding: diagnostics.Diagnostic, names: set[str], parsed: Iterable[parser.ParseResult]
) -> bool:
    """Return whether a finding is in a policy or metric of `names`, or in none at all."""
    for text in parsed:
        for item in text.file.items:
            if isinstance(item, syntax.Policy | syntax.Metric) and _contains_span(
                item.span, finding.span
            ):
                return item.name.text in names
    return True


def _contains_span(outer: source.Span, inner: source.Span) -> bool:
    return outer.file == inner.file and outer.start <= inner.start <= inner.end <= outer.end
