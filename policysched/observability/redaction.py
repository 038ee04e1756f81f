"""Removes secrets from texts for humans: logs and error messages, from any source.

Such texts should contain no secrets in the first place. This is the second line of defence:
messages of servers and libraries about a request may contain parts of the request. Known secrets
are removed at every position, others are recognised by the text around them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

HIDDEN = "(hidden)"

KnownSecrets: TypeAlias = Callable[[], Iterable[str]]
"""Returns the current secrets, because tokens are renewed."""

_MIN_CHARACTERS = 6
"""Shorter values occur in other words by chance; such a short secret protects nothing."""

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
    # Without quotes, ordinary words may follow: `/run/token: cannot be read`.
    (
        re.compile(rf"\b({_NAMES}:\s*)(?=[^\s\d'\",;]{{0,256}}\d)[^\s'\",;]{{6,}}", re.IGNORECASE),
        rf"\1{HIDDEN}",
    ),
)


class Redactor:
    """Removes known and recognisable secrets."""

    def __init__(self) -> None:
        """Start with patterns only."""
        self._known: list[KnownSecrets] = []

    def add_secret_source(self, known: KnownSecrets) -> None:
        """Also remove the values that `known` returns at the time; keep the scheme of a header."""
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
    """Return a text without parts that look like a secret."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def _split_secret_parts(value: str) -> Iterable[str]:
    """Yield the secret parts of a value, which may be an Authorization header."""
    scheme, _, rest = value.partition(" ")
    secret = rest if scheme in ("Bearer", "Basic") else value
    if len(secret) >= _MIN_CHARACTERS:
        yield secret
