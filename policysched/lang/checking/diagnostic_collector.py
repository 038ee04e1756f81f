"""Collects the diagnostics of all checker modules, and makes the common ones."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policysched import spelling
from policysched.lang import source
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.foreign import foreign_words
from policysched.lang.syntax import syntax_expr

WHERE_PATTERNS_ARE = "`*` is only a wildcard in values of labels and fields, and in namespaces"
_ENDLESS_WORD = re.compile(r"([^\s`]{40})[^\s`]{216,}")
"""Words longer than any key or name in Kubernetes (253) would make messages unreadable."""


def _shorten_endless_words(text: str) -> str:
    return _ENDLESS_WORD.sub(r"\1…", text)


def _format_allowed_words_help(allowed: list[str], meant: str) -> str:
    choice = spelling.join_alternatives(f"`{each}`" for each in allowed)
    return f"write `{meant}`; allowed words are {choice}" if meant else f"write {choice}"


class DiagnosticCollector:
    """Collects the diagnostics of all texts, each of them once.

    A policy is checked again for each profile that sets params, so the same problem can be found
    several times.

    Args:
        texts: all source texts, keyed by name.
        lost_words: words in statements that could not be parsed. These statements can define names,
            so a name among the words is not reported as missing.
        damaged: the ranges that could not be parsed.
    """

    def __init__(
        self,
        texts: Mapping[str, source.SourceText],
        lost_words: frozenset[str] = frozenset(),
        damaged: Iterable[source.Span] = (),
    ) -> None:
        self.texts = texts
        self.lost_words = lost_words
        self.damaged = tuple(damaged)
        self._found: dict[tuple[str, source.Span, str], diagnostics.Diagnostic] = {}

    def add_diagnostic(self, finding: diagnostics.Diagnostic) -> None:
        """Add a diagnostic with overlong words shortened, unless it has been added before."""
        finding = dataclasses.replace(
            finding,
            message=_shorten_endless_words(finding.message),
            label=_shorten_endless_words(finding.label),
            help=_shorten_endless_words(finding.help),
            fix=fixes.pad_fix_with_blanks(finding.fix, self.texts)
            if finding.fix is not None
            else None,
        )
        self._found.setdefault((finding.code, finding.span, finding.message), finding)

    def add_error(self, code: str, message: str, span: source.Span, **parts: Any) -> None:  # noqa: ANN401 - the other fields of Diagnostic
        """Add an error; `parts` are the other fields of Diagnostic."""
        self.add_diagnostic(diagnostics.Diagnostic(code, message, span, **parts))

    def report_undefined_name(
        self,
        kind: str,
        name: syntax_expr.Value,
        known: Iterable[str],
        *,
        instead: str = "",
        edits: Sequence[str] = (),
    ) -> None:
        """Report a name that is not defined, with the most similar known names.

        Args:
            kind: what the name should denote, for the message.
            name: the undefined name, with its span.
            known: all defined names.
            instead: the help if no known name is similar.
            edits: replacement texts, if they differ from the similar names.
        """
        if name.text in self.lost_words:
            return
        near = spelling.find_nearest_names(name.text, known)
        written = [*edits, *near]
        fix = None
        if near and not name.quoted:
            fix = fixes.make_replacement_fix(name.span, written[0])
        self.add_error(
            "PS104",
            f"there is no {kind} `{name.text}`",
            name.span,
            label=spelling.suggest_names(name.text, near),
            help=f"write `{written[0]}`" if near else instead,
            fix=fix,
        )

    def report_invalid_name(
        self, what: str, name: syntax_expr.Value, problem: str, ours: str = ""
    ) -> None:
        """Report a name or value that Kubernetes would refuse, and propose `ours` instead."""
        advice, fix = "", None
        if "*" in name.text and what not in ("label value", "namespace"):
            advice = WHERE_PATTERNS_ARE
        elif ours:
            advice = f"write `{ours}`"
            fix = fixes.make_replacement_fix(name.span, ours)
        self.add_error(
            "PS107", f"the {what} `{name.text}` {problem}", name.span, help=advice, fix=fix
        )

    def report_word_not_allowed(
        self, what: str, word: syntax_expr.Value, allowed: Iterable[str]
    ) -> None:
        """Report a word that is not in `allowed`, with the most similar allowed words."""
        listed = list(allowed)
        near = spelling.find_nearest_names(word.text, listed)
        meant = "" if near else foreign_words.translate_value(word.text, listed)
        fix = None
        if near:
            fix = fixes.make_respelling_fix(word.span, word.text, near[0], listed)
        elif meant:
            fix = fixes.make_replacement_fix(word.span, meant)
        self.add_error(
            "PS001",
            f"`{word.text}` is not {what}",
            word.span,
            label=spelling.suggest_names(word.text, near),
            help=_format_allowed_words_help(listed, meant),
            fix=fix,
        )

    def is_next_to_unparsed_part(self, span: source.Span) -> bool:
        """Return whether a range in `span`, or directly after it, could not be parsed."""
        text = self.texts.get(span.file)
        return text is not None and any(
            each.file == span.file
            and span.start <= each.start
            and not text.text[span.end : each.start].strip()
            for each in self.damaged
        )

    def get_text_on_one_line(self, span: source.Span) -> str:
        """Return the text that a span covers, on one line."""
        text = self.texts.get(span.file)
        return " ".join(text.slice(span).split()) if text else ""

    def list_by_position(self) -> tuple[diagnostics.Diagnostic, ...]:
        """Return all diagnostics, ordered by position."""
        return tuple(sorted(self._found.values(), key=diagnostics.make_diagnostic_sort_key))

    @property
    def has_errors(self) -> bool:
        """Whether any of the diagnostics is an error."""
        return any(each.severity is diagnostics.Severity.ERROR for each in self._found.values())
