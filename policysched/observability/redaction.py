"""Remove secrets from texts for humans, such as logs and error messages.

Texts should contain no secrets in the first place; this is the second line of defence, because
messages of servers and libraries can quote a request. Known secrets are removed wherever they
occur. Other secrets are recognised by the text around them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

HIDDEN = "(hidden)"

KnownSecrets: TypeAlias = Callable[[], Iterable[str]]
"""Returns the secrets that are valid now, which change when tokens are renewed."""

_MIN_CHARACTERS = 6
"""Shorter values occur in ordinary words by chance, and offer no protection as secrets."""

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
    # Without quotes, an ordinary word can follow: `/run/token: cannot be read`.
    (
        re.compile(rf"\b({_NAMES}:\s*)(?=[^\s\d'\",;]{{0,256}}\d)[^\s'\",;]{{6,}}", re.IGNORECASE),
        rf"\1{HIDDEN}",
    ),
)


class Redactor:
    """Removes known secrets and texts that look like secrets."""

    def __init__(self) -> None:
        """Start without known secrets; only patterns are removed."""
        self._known: list[KnownSecrets] = []

    def add_secret_source(self, known: KnownSecrets) -> None:
        """Also remove the values that `known` returns, but keep the scheme of a header."""
        self._known.append(known)

    def remove_secrets(self, text: str) -> str:
        """Return the text with HIDDEN in place of each secret."""
        values = {
            part
            for known in self._known
            for value in known()
            for part in _extract_secret_parts(value)
        }
        for value in sorted(values, key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return mask_secret_patterns(text)


def mask_secret_patterns(text: str) -> str:
    """Replace the parts of a text that look like secrets with HIDDEN."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def _extract_secret_parts(value: str) -> Iterable[str]:
    """Yield the secret part of a value, which can be an Authorization header."""
    scheme, _, rest = value.partition(" ")
    secret = rest if scheme in ("Bearer", "Basic") else value
    if len(secret) >= _MIN_CHARACTERS:
        yield secret
