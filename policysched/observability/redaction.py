"""Takes secrets out of texts for people: logs and error messages, whoever wrote them.

Texts should hold none in the first place. This is the second line: what servers and libraries say
of a request may hold what was sent. Known secrets are taken out wherever they stand, others by the
company they keep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

HIDDEN = "(hidden)"

KnownSecrets: TypeAlias = Callable[[], Iterable[str]]
"""Returns the secrets of the moment: tokens are renewed."""

_MIN_CHARACTERS = 6
"""Shorter values stand in other words by chance; a secret that short protects nothing."""

_NAMES = r"(?:(?:access_|id_|refresh_|bearer_?)?token|password|passwd|secret|api[-_]?key)"

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
        ),
        HIDDEN,
    ),
    (re.compile(r"\b(bearer|basic)(\s+|%20|\+)[\w.~+/=-]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), HIDDEN),  # a JSON web token
    (re.compile(r"(\w://)[^/\s@'\"]+@"), rf"\1{HIDDEN}@"),
    (re.compile(rf"\b({_NAMES}['\"]?\s*=\s*['\"]?)[^\s&'\",;]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(rf"\b({_NAMES}['\"]\s*:\s*['\"])[^'\"]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    # Without quotes a word may follow: `/run/token: cannot be read`.
    (
        re.compile(rf"\b({_NAMES}:\s*)(?=[^\s\d'\",;]{{0,256}}\d)[^\s'\",;]{{6,}}", re.IGNORECASE),
        rf"\1{HIDDEN}",
    ),
)


class Redactor:
    """Knows which texts are secret."""

    def __init__(self) -> None:
        """Start with patterns alone."""
        self._known: list[KnownSecrets] = []

    def add_secret_source(self, known: KnownSecrets) -> None:
        """Take out, too, what `known` returns at the time; the scheme of a header stays."""
        self._known.append(known)

    def remove_secrets(self, text: str) -> str:
        """Return a text without secrets."""
        values = {
            part
            for known in self._known
            for value in known()
            for part in _split_secret_parts(value)
        }
        for value in sorted(values, key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return mask_secret_patterns(text)


def mask_secret_patterns(text: str) -> str:
    """Return a text without what looks like a secret."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def _split_secret_parts(value: str) -> Iterable[str]:
    """Yield the secret parts of a value, which may be that of an Authorization header."""
    scheme, _, rest = value.partition(" ")
    secret = rest if scheme in ("Bearer", "Basic") else value
    if len(secret) >= _MIN_CHARACTERS:
        yield secret
