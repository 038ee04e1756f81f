"""A way to write something in another language, and the patterns that such ways have in common."""

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
    r"""A way to write something in another language.

    Attributes:
        pattern: of the text, on as many lines as it matches.
        ours: template (`\1`) of what to write, "" to leave it out, or a function of the match; None
            if nothing that the text says can be written instead.
        message: template of a message, or "" for the general one.
        help: template of a help instead of naming what to write.
        code: of the diagnostic.
        safe: whether what matches has one reading, the rule of `fixes`.
    """

    pattern: str
    ours: str | Callable[[re.Match[str]], str | None] | None
    message: str = ""
    help: str = ""
    code: str = "PS001"
    safe: bool = False

    @property
    def regex(self) -> re.Pattern[str]:
        """The compiled pattern; it is compiled at the first error only."""
        return _compile_idiom_pattern(self.pattern)

    def rewrite(self, match: re.Match[str]) -> str | None:
        """Return what to write instead of the match; None if that is not known."""
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
    """Return an idiom; see the attributes of `ForeignIdiom`."""
    return ForeignIdiom(pattern, ours, message, help, code, safe)
