"""Where the checker's modules leave what they find."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from policysched.lang import diagnostics, fixes, source, spelling, syntax_expr

_ENDLESS_WORD = re.compile(r"([^\s`]{40})[^\s`]{216,}")
"""Longer than any key or name that Kubernetes allows (253): nobody reads it to its end."""


def _shortened(text: str) -> str:
    return _ENDLESS_WORD.sub(r"\1…", text)


class Findings:
    """Collects diagnostics, each once: a policy is checked again for every profile with params.

    Args:
        texts: all source texts by name.
        lost_words: words of statements that could not be read; a name among them may have been
            defined there, so that it is missing is not reported.
    """

    def __init__(
        self, texts: Mapping[str, source.SourceText], lost_words: frozenset[str] = frozenset()
    ) -> None:
        self.texts = texts
        self.lost_words = lost_words
        self._found: dict[tuple[str, source.Span, str], diagnostics.Diagnostic] = {}

    def add(self, finding: diagnostics.Diagnostic) -> None:
        """Keep a diagnostic, endless words shortened, unless it is already there."""
        finding = dataclasses.replace(
            finding,
            message=_shortened(finding.message),
            label=_shortened(finding.label),
            help=_shortened(finding.help),
        )
        self._found.setdefault((finding.code, finding.span, finding.message), finding)

    def error(self, code: str, message: str, span: source.Span, **parts: Any) -> None:  # noqa: ANN401 - the further fields of Diagnostic
        """Keep an error; `parts` are further fields of Diagnostic."""
        self.add(diagnostics.Diagnostic(code, message, span, **parts))

    def undefined(
        self, kind: str, name: syntax_expr.Value, known: Iterable[str], *, instead: str = ""
    ) -> None:
        """Report a name that nothing defines, with the nearest known ones."""
        if name.text in self.lost_words:
            return
        near = spelling.nearest(name.text, known)
        fix = None
        if near and not name.quoted:
            fix = diagnostics.Fix((diagnostics.Edit(name.span, near[0]),), safe=False)
        self.error(
            "PS104",
            f"there is no {kind} `{name.text}`",
            name.span,
            label=spelling.did_you_mean(name.text, near),
            help=f"write `{near[0]}`" if near else instead,
            fix=fix,
        )

    def not_one_of(self, what: str, word: syntax_expr.Value, allowed: Iterable[str]) -> None:
        """Report a word that is not among the few that its place takes."""
        listed = list(allowed)
        near = spelling.nearest(word.text, listed)
        fix = fixes.respelt(word.span, word.text, near[0], listed) if near else None
        self.error(
            "PS001",
            f"`{word.text}` is not {what}",
            word.span,
            label=spelling.did_you_mean(word.text, near),
            help=f"write {spelling.alternatives(f'`{each}`' for each in listed)}",
            fix=fix,
        )

    def text(self, span: source.Span) -> str:
        """Return the text under a span, on one line."""
        text = self.texts.get(span.file)
        return " ".join(text.slice(span).split()) if text else ""

    def sorted(self) -> tuple[diagnostics.Diagnostic, ...]:
        """Return everything by position."""
        return tuple(sorted(self._found.values(), key=diagnostics.by_position))

    @property
    def has_errors(self) -> bool:
        """Whether any error is among them."""
        return any(each.severity is diagnostics.Severity.ERROR for each in self._found.values())
