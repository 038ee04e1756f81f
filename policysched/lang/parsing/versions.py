"""Handle the version of the language: `version N`, once, before all other items.

A text without this statement has the first version. Texts of all versions load with the meaning
that they had. Version 2 removes one form: `for pods in namespace where …` looks as if it selected
pods; `for pods namespaceSelector …`, which version 1 has as well, replaces it.
"""

from __future__ import annotations

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import scanner

FIRST = 1
CURRENT = 2
"""The version of the grammar, the checker and docs/language-reference.md."""

_MAX_DIGITS = 9


def find_declared_version(scan: scanner.LexemeScan) -> scanner.Lexeme | None:
    """Return the number of the `version` statement at the start of a text, or None without one."""
    if len(scan.lexemes) < 2:  # noqa: PLR2004 - a word and a number
        return None
    word, number = scan.lexemes[:2]
    return number if word.text == "version" and number.kind == "word" else None


def parse_language_version(text: str) -> int:
    """Parse a version; return 0 if the text is not a number.

    A number with too many digits counts as newer than any version.
    """
    if not text.isdecimal():
        return 0
    return int(text) if len(text) <= _MAX_DIGITS else 10**_MAX_DIGITS


def diagnose_newer_version(
    scan: scanner.LexemeScan, current: int = CURRENT
) -> diagnostics.Diagnostic | None:
    """Return the diagnostic for a text of a newer version than `current`, or None."""
    number = find_declared_version(scan)
    if number is None or parse_language_version(number.text) <= current:
        return None
    return diagnose_unknown_version(
        number.text, scan.source.span(number.start, number.end), current
    )


def diagnose_unknown_version(
    number: str, span: source.Span, current: int = CURRENT
) -> diagnostics.Diagnostic:
    """Return the diagnostic for a `version` that is not one of the first to `current`."""
    version = parse_language_version(number)
    shown = number if len(number) <= _MAX_DIGITS else f"{number[:_MAX_DIGITS]}…"
    problem = f"version {shown} of the language is not supported"
    advice = f"this program supports {_describe_versions(current)}"
    if version > current:
        problem = (
            f"this text is written in version {shown} of the language, which needs a "
            "newer policysched"
        )
        advice += ": use a newer policysched"
    return diagnostics.Diagnostic("PS110", problem, span, help=advice)


def _describe_versions(current: int) -> str:
    return f"version {FIRST}" if current == FIRST else f"versions {FIRST} to {current}"
