"""Applies the fixes of findings to policy texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter, settings

if TYPE_CHECKING:
    from policysched.lint.facts import (  # imports NumPy, which most runs do not need
        cluster_facts,
        prometheus_facts,
    )

_MAX_ROUNDS = 10
"""The maximum number of rounds; a fix can reveal other findings, but such chains are shorter."""
_MAX_SINGLE = 50
"""The maximum number of fixes that are tried one by one if all fixes together leave errors."""


def apply_fixes(  # noqa: PLR0913 - one argument for each input of a lint run
    sources: Sequence[source.SourceText],
    given: Mapping[str, str],
    chosen: settings.LintSettings,
    *,
    also_unsafe: bool,
    cluster: cluster_facts.ClusterFacts | None = None,
    prometheus: prometheus_facts.PrometheusFacts | None = None,
    now: float | None = None,
) -> list[source.SourceText]:
    """Return the texts after all applicable fixes, repeated until no fix is left.

    Fixes that would leave a text with errors are not applied. The number of rounds is limited.

    Args:
        sources: the policy texts.
        given: the values of params.
        chosen: the settings that select the rules.
        also_unsafe: whether to apply fixes that change the meaning of a policy.
        cluster: the cluster for the rules that compare policies with one.
        prometheus: the facts for the rules that need a Prometheus server; they lack answers to
            queries that a fix has changed.
        now: see `checker.check`.
    """
    texts = list(sources)
    for _ in range(_MAX_ROUNDS):
        result = checker.check(texts, given=given, now=now)
        report = linter.lint_program(result, chosen, cluster, prometheus)
        wanted = [each for each in report.findings if each.fix and (each.fix.safe or also_unsafe)]
        harmless = _select_jointly_fixable_findings(texts, wanted, given)
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
    """Return the number of findings with a safe fix that `apply_fixes` applies."""
    editable = {text.name for text in texts if text.is_editable}
    wanted = [
        each
        for each in findings
        if each.fix is not None and each.fix.safe and each.span.file in editable
    ]
    return len(_select_jointly_fixable_findings(texts, wanted, given))


def _select_jointly_fixable_findings(
    texts: Sequence[source.SourceText],
    wanted: Sequence[diagnostics.Diagnostic],
    given: Mapping[str, str],
) -> Sequence[diagnostics.Diagnostic]:
    """Return all findings, or a subset whose fixes together leave no errors."""
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
    """Return a text after applying edits that do not overlap."""
    for edit in sorted(edits, key=lambda each: (each.span.start, each.span.end), reverse=True):
        # From the last edit to the first, so that the offsets of the remaining edits stay valid.
        text = text[: edit.span.start] + edit.replacement + text[edit.span.end :]
    return text


def _apply_finding_fixes(
    text: source.SourceText, findings: Sequence[diagnostics.Diagnostic]
) -> source.SourceText:
    """Return a text with the fixes applied; of fixes that overlap, only the first is applied.

    Fixes with edits in other texts are not applied.
    """
    taken: list[diagnostics.TextEdit] = []
    for finding in findings:
        edits = finding.fix.edits if finding.fix is not None else ()
        is_here = all(edit.span.file == text.name for edit in edits)
        if is_here and not any(_do_edits_overlap(edit, other) for edit in edits for other in taken):
            taken += edits
    return source.SourceText(text.name, apply_text_edits(text.text, taken), text.origin)


def _do_edits_overlap(one: diagnostics.TextEdit, other: diagnostics.TextEdit) -> bool:
    return one.span.start <= other.span.end and other.span.start <= one.span.end
