"""Applies the fixes of findings to texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter, settings

if TYPE_CHECKING:
    from policysched.lint.facts import (  # brings NumPy, which most runs do without
        cluster_facts,
        prometheus_facts,
    )

_MAX_ROUNDS = 10
"""A fix may bring up what another rule fixes; more rounds than rules that lead to each other."""
_MAX_SINGLE = 50
"""Where all fixes together leave errors, so many are tried one by one."""


def apply_fixes(  # noqa: PLR0913 - one argument for each thing that a run of lint has
    sources: Sequence[source.SourceText],
    given: Mapping[str, str],
    chosen: settings.RuleSettings,
    *,
    also_unsafe: bool,
    cluster: cluster_facts.ClusterFacts | None = None,
    prometheus: prometheus_facts.PrometheusFacts | None = None,
    now: float | None = None,
) -> list[source.SourceText]:
    """Return the texts with fixes applied until there is none left.

    Fixes that would leave a text with errors are not applied.

    Args:
        sources: the texts.
        given: values of params.
        chosen: which rules have a say.
        also_unsafe: whether fixes are applied that change what a policy means.
        cluster: for the rules that need one.
        prometheus: as above; of queries that a fix has changed it says nothing any more.
        now: see `checker.check`.
    """
    texts = list(sources)
    for _ in range(_MAX_ROUNDS):
        result = checker.check(texts, given=given, now=now)
        report = linter.lint_program(result, chosen, cluster, prometheus)
        wanted = [each for each in report.findings if each.fix and (each.fix.safe or also_unsafe)]
        harmless = _keep_harmlessly_fixable_findings(texts, wanted, given)
        fixed = [_apply_finding_fixes(text, harmless) for text in texts]
        if fixed == texts:
            break
        texts = fixed
    return texts


def count_safe_fixes(
    texts: Sequence[source.SourceText],
    findings: Iterable[diagnostics.Diagnostic],
    given: Mapping[str, str],
) -> int:
    """Return how many findings have a safe fix that `apply_fixes` applies."""
    editable = {text.name for text in texts if text.is_editable}
    wanted = [
        each
        for each in findings
        if each.fix is not None and each.fix.safe and each.span.file in editable
    ]
    return len(_keep_harmlessly_fixable_findings(texts, wanted, given))


def _keep_harmlessly_fixable_findings(
    texts: Sequence[source.SourceText],
    wanted: Sequence[diagnostics.Diagnostic],
    given: Mapping[str, str],
) -> Sequence[diagnostics.Diagnostic]:
    """Return all of the findings, or else those whose fixes leave no errors together."""
    fixed = [_apply_finding_fixes(text, wanted) for text in texts]
    if not wanted or checker.check(fixed, given=given).program is not None:
        return wanted
    harmless: list[diagnostics.Diagnostic] = []
    for each in wanted[:_MAX_SINGLE]:
        trial = [_apply_finding_fixes(text, [*harmless, each]) for text in texts]
        if checker.check(trial, given=given).program is not None:
            harmless.append(each)
    return harmless


def apply_text_edits(text: str, edits: Iterable[diagnostics.TextEdit]) -> str:
    """Return a text with edits made that do not overlap."""
    for edit in sorted(edits, key=lambda each: (each.span.start, each.span.end), reverse=True):
        text = text[: edit.span.start] + edit.replacement + text[edit.span.end :]
    return text


def _apply_finding_fixes(
    text: source.SourceText, findings: Sequence[diagnostics.Diagnostic]
) -> source.SourceText:
    """Return a text with those fixes applied that do not overlap; earlier ones win."""
    taken: list[diagnostics.TextEdit] = []
    for finding in findings:
        edits = finding.fix.edits if finding.fix is not None else ()
        is_here = all(edit.span.file == text.name for edit in edits)
        if is_here and not any(_do_edits_overlap(edit, other) for edit in edits for other in taken):
            taken += edits
    return source.SourceText(text.name, apply_text_edits(text.text, taken), text.origin)


def _do_edits_overlap(one: diagnostics.TextEdit, other: diagnostics.TextEdit) -> bool:
    return one.span.start <= other.span.end and other.span.start <= one.span.end
