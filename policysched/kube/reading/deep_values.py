"""Cut values of JSON that are nested too deeply to be decoded.

The API server accepts thousands of levels in `managedFields` and in parameters for drivers, which
any author of a pod or of a claim can write. Without this, one such object would make the list of
its kind unreadable, and no pod would be scheduled.
"""

from __future__ import annotations

import re
from typing import Final

MAX_DEPTH: Final = 200
"""Levels that are kept. No kind has as many, and decoders process several times as many."""

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_OPENING: Final = frozenset(b"[{")
_CLOSING: Final = frozenset(b"]}")


def cut_deep_values(text: bytes) -> bytes:
    r"""Return JSON in which `null` replaces each value below `MAX_DEPTH` levels.

    >>> text = b"[" * 1000 + b'"]\\"]"' + b"]" * 1000
    >>> cut_deep_values(text) == b"[" * MAX_DEPTH + b"null" + b"]" * MAX_DEPTH
    True
    """
    parts: list[bytes] = []
    depth = kept_from = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in _OPENING:
            depth += 1
            if depth == MAX_DEPTH + 1:
                parts += (text[kept_from : token.start()], b"null")
        elif first in _CLOSING:
            if depth == MAX_DEPTH + 1:
                kept_from = token.end()
            depth -= 1
    return b"".join((*parts, text[kept_from:]))
