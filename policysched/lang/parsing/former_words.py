"""Words of former versions of the language, and what later versions have in their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import scanner, versions

_NAMESPACE_LABELS = ["in", "namespace", "where"]
"""Of version 1, after `for pods`: it selects namespaces by their labels."""


class FormerWords(NamedTuple):
    """Words that a later version does not have, and the edits that replace them."""

    span: source.Span
    edits: tuple[diagnostics.TextEdit, ...]


def find_namespace_labels(scan: scanner.LexemeScan) -> Iterator[FormerWords]:
    """Yield each `in namespace where` after `for pods`, with its replacement.

    Cluster policies cannot read labels of namespaces in either form.
    """
    lexemes, span = scan.lexemes, scan.source.span
    for first in range(len(lexemes) - 4):
        words = [each.text.lower() for each in lexemes[first : first + 5]]
        if words[:2] != ["for", "pods"] or words[2:] != _NAMESPACE_LABELS:
            continue
        former = lexemes[first + 2 : first + 5]
        whole = span(former[0].start, former[-1].end)
        if scan.source.slice(whole).lower().split() == _NAMESPACE_LABELS:
            yield FormerWords(whole, (diagnostics.TextEdit(whole, "namespaceSelector"),))
        else:  # with comments, which stay
            texts = ("namespaceSelector", "", "")
            pairs = zip(former, texts, strict=True)
            edits = [diagnostics.TextEdit(span(e.start, e.end), text) for e, text in pairs]
            yield FormerWords(whole, tuple(edits))


def diagnose_former_words(text: source.SourceText) -> Iterator[diagnostics.Diagnostic]:
    """Yield an error for all words that the declared version of a text does not have."""
    scan = scanner.LexemeScan(text)
    number = versions.find_declared_version(scan)
    if number is None or versions.parse_language_version(number.text) <= versions.FIRST:
        return
    for former in find_namespace_labels(scan):
        yield diagnostics.Diagnostic(
            "PS110",
            "version 2 of the language has no `in namespace where`",
            former.span,
            label="this selects namespaces by their labels",
            help="write `namespaceSelector`",
            fix=diagnostics.Fix(former.edits, safe=True),
        )
