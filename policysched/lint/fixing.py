"""Applies the fixes of findings to texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from policysched.lang import checker, diagnostics, source
from policysched.lint import linter, settings

if TYPE_CHECKING:
    from policysched.lint import cluster_facts  # brings NumPy, which most runs do without

_MAX_ROUNDS = 10
"""A fix may bring up what another rule fixes; more rounds than rules that lead to each other."""


def fix(
    sources: Sequence[source.SourceText],
    given: Mapping[str, str],
    chosen: settings.Settings,
    *,
    also_unsafe: bool,
    cluster: cluster_facts.ClusterFacts | None = None,
) -> list[source.SourceText]:
    """Return the texts with fixes applied until there is none left.

    Fixes that would leave a text with errors are not applied.
    """
    texts = list(sources)
    for _ in range(_MAX_ROUNDS):
        report = linter.lint(checker.check(texts, given=given), chosen, cluster)
        fixed = [_fixed(text, report.findings, also_unsafe=also_unsafe) for text in texts]
        if fixed == texts or checker.check(fixed, given=given).program is None:
            break
        texts = fixed
    return texts


def apply(text: str, edits: Iterable[diagnostics.Edit]) -> str:
    """Return a text with edits made that do not overlap."""
    for edit in sorted(edits, key=lambda each: (each.span.start, each.span.end), reverse=True):
        text = text[: edit.span.start] + edit.replacement + text[edit.span.end :]
    return text


def _fixed(
    text: source.SourceText,
    findings: Sequence[diagnostics.Diagnostic],
    *,
    also_unsafe: bool,
) -> source.SourceText:
    """Return a text with those fixes applied that do not overlap; earlier ones win."""
    taken: list[diagnostics.Edit] = []
    for finding in findings:
        fix = finding.fix
        if fix is None or not (fix.safe or also_unsafe):
            continue
        is_here = all(edit.span.file == text.name for edit in fix.edits)
        if is_here and not any(_overlap(edit, other) for edit in fix.edits for other in taken):
            taken += fix.edits
    return source.SourceText(text.name, apply(text.text, taken), text.origin)


def _overlap(one: diagnostics.Edit, other: diagnostics.Edit) -> bool:
    return one.span.start <= other.span.end and other.span.start <= one.span.end
