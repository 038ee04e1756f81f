"""Runs the rules on a program and removes silenced findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lint import clusters_as_nodes, ignores, registry, rule, rule_input, settings

if TYPE_CHECKING:
    from policysched.lint.facts import (  # imports NumPy, which most runs do not need
        cluster_facts,
        prometheus_facts,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class LintResult:
    """The findings of a lint run, and the texts to which they refer.

    Attributes:
        findings: the findings that are not silenced, ordered by position.
        texts: the texts, keyed by name.
        silenced: the number of findings that comments silence.
    """

    findings: tuple[diagnostics.Diagnostic, ...]
    texts: Mapping[str, source.SourceText]
    silenced: int


def lint_program(
    result: checker.CheckResult,
    chosen: settings.LintSettings,
    cluster: cluster_facts.ClusterFacts | None = None,
    prometheus: prometheus_facts.PrometheusFacts | None = None,
) -> LintResult:
    """Run the enabled rules, and return their findings with the warnings of `check`.

    For a program with errors, return only the findings of `check`. Rules that need a cluster or a
    Prometheus server run only if it is given.
    """
    if result.program is None:
        return LintResult(result.diagnostics, result.texts, 0)
    available = registry.list_offline_rules() + (
        registry.list_cluster_rules() if cluster is not None else ()
    )
    available += registry.list_prometheus_rules() if prometheus is not None else ()
    active = [each for each in available if chosen.is_rule_enabled(each.code)]
    about = rule_input.LintInput(
        result.program,
        result.parsed,
        result.texts,
        cluster.restrict_to_profiles(result.program) if cluster is not None else None,
        prometheus,
        chosen.thresholds,
    )
    found = [each for each in result.diagnostics if chosen.is_rule_enabled(each.code)]
    found += _run_rules(about, active, chosen)
    comments = [each for parsed in result.parsed for each in ignores.parse_ignores(parsed)]
    kept = [
        each
        for each in found
        if not any(comment.silences_finding(each) for comment in comments if comment.codes)
    ]
    silenced = len(found) - len(kept)
    if chosen.is_rule_enabled("PS803"):
        # The code of a rule that has not run must not be reported as unused.
        judged = {each.code for each in active}
        kept += _diagnose_useless_ignores(comments, found, judged, result, chosen)
    shown = [each for each in kept if not _is_finding_excluded(each, result.texts, chosen)]
    # A rule can report the same finding once for each profile that contains a policy.
    unique = {(each.code, each.span, each.message): each for each in shown}
    findings = tuple(sorted(unique.values(), key=diagnostics.make_diagnostic_sort_key))
    return LintResult(findings, result.texts, silenced)


def _run_rules(
    about: rule_input.LintInput,
    active: Sequence[rule.LintRule],
    chosen: settings.LintSettings,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield the findings of all active rules, including those about cluster policies."""
    across = clusters_as_nodes.substitute_clusters_for_nodes(about)
    for each in active:
        level = chosen.get_severity(each.code, each.severity)
        for finding in each.check(about):
            told = finding
            if across is not None and clusters_as_nodes.is_of_cluster_metric(finding, about):
                told = clusters_as_nodes.reword_for_clusters(finding)
            yield dataclasses.replace(told, severity=level)
        if across is not None and each.code in clusters_as_nodes.CODES:
            for finding in each.check(across):
                yield dataclasses.replace(
                    clusters_as_nodes.reword_for_clusters(finding), severity=level
                )


def _diagnose_useless_ignores(
    comments: Sequence[ignores.IgnoreComment],
    found: Sequence[diagnostics.Diagnostic],
    judged: set[str],
    result: checker.CheckResult,
    chosen: settings.LintSettings,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield PS803 for useless ignore comments, with the severity from the settings."""
    level = chosen.get_severity("PS803", diagnostics.Severity.WARNING)
    for finding in ignores.find_useless_ignores(comments, found, judged, dict(result.texts)):
        yield dataclasses.replace(finding, severity=level)


def _is_finding_excluded(
    finding: diagnostics.Diagnostic,
    texts: Mapping[str, source.SourceText],
    chosen: settings.LintSettings,
) -> bool:
    """Return whether the settings exclude a finding by the path of its file or text."""
    text = texts.get(finding.span.file)
    path = text.origin.file if text is not None and text.origin is not None else finding.span.file
    return chosen.is_excluded_from_file(finding.code, path) or chosen.is_excluded_from_file(
        finding.code, finding.span.file
    )
