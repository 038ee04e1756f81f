"""Define the class of foreign idioms, and the regular expressions that idioms share."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable

from policysched.lang.words import syntax_words

_SINGLE_QUOTED = re.compile(r"'([^'\"\n]*)'")
KEY = r'"?[A-Za-z0-9_][\w./-]*"?'
VALUE = r"""(?:"[^"\n]*"|'[^'"\n]*'|[\w./-]+)"""
LIST = rf"{VALUE}(?:\s*,\s*{VALUE})*"
TAINT = rf"(?:{KEY})(?:\s*=\s*{VALUE})?(?::\w+)?"
NAME = r"[A-Za-z_]\w*"
OPERAND = r"[\w.]+%?(?:\([^()\n]*\))?"
EQUALITY = r"==|=|!="
LABELS = r"(?:metadata\.)?(?:labels\.)?"
KEYWORDS = "|".join(sorted(syntax_words.ALL_KEYWORDS, key=len, reverse=True))
CLAUSES = "|".join(sorted(syntax_words.CLAUSE_WORDS, key=len, reverse=True))


@functools.cache
def _compile_idiom_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


@dataclasses.dataclass(frozen=True, slots=True)
class ForeignIdiom:
    r"""A notation of another language.

    Attributes:
        pattern: regular expression for the text; it can match several lines.
        ours: template (`\1`) of the replacement, "" to remove the text, or a function that rewrites
            a match; None without a replacement.
        message: template of the message; "" for the default message.
        help: template of the help; "" to recommend the replacement.
        code: code of the diagnostic.
        safe: whether a match has exactly one meaning, so that the fix is safe.
    """

    pattern: str
    ours: str | Callable[[re.Match[str]], str | None] | None
    message: str = ""
    help: str = ""
    code: str = "PS001"
    safe: bool = False

    @property
    def regex(self) -> re.Pattern[str]:
        """The compiled pattern, compiled on first use because only syntax errors need it."""
        return _compile_idiom_pattern(self.pattern)

    def rewrite(self, match: re.Match[str]) -> str | None:
        """Return the replacement for a match, or None if it is not known."""
        if self.ours is None:
            return None
        ours = self.ours(match) if callable(self.ours) else match.expand(self.ours)
        return None if ours is None else _SINGLE_QUOTED.sub(r'"\1"', ours)


def make_idiom(
    pattern: str,
    ours: str | Callable[[re.Match[str]], str | None] | None,
    message: str = "",
    help: str = "",  # noqa: A002 - as in diagnostics
    code: str = "PS001",
    *,
    safe: bool = False,
) -> ForeignIdiom:
    """Build an idiom; the parameters are the attributes of `ForeignIdiom`."""
    return ForeignIdiom(pattern, ours, message, help, code, safe)
