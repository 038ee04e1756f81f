"""`matches`, `find`, `findAll`: on RE2, whose time grows only with the length of text and pattern.

Python's `re` backtracks, so a pattern of a claim could stop the scheduler.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Final

import re2

from policysched.cel.failures import EvaluationError
from policysched.cel.meter import Meter
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import BOOL, INT, STRING, list_of

_MAX_BYTES: Final = 1 << 20
"""Of a compiled pattern and its automaton; the patterns of Kubernetes need some kilobytes."""
_ESCAPES: Final = re.compile(r"\\Q.*?(?:\\E|$)|\\(.)", re.DOTALL)
r"""Escaped characters; `\C`, a single byte, is in RE2 and not in Go."""
_OPTIONS: Final = re2.Options()
_OPTIONS.max_mem = _MAX_BYTES
_OPTIONS.log_errors = False


@functools.lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:  # noqa: ANN401 - re2 has no type hints
    """Return the compiled pattern.

    Raises:
        EvaluationError: it is no pattern of RE2, or too large.
    """
    if any(escaped == "C" for escaped in _ESCAPES.findall(pattern)):
        raise EvaluationError("error parsing regexp: invalid escape sequence: `\\C`")
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace")
        raise EvaluationError(f"error parsing regexp: {reason}") from None


def _charge_search(meter: Meter, length: int, pattern: str) -> None:
    meter.charge_text(length * (1 + len(pattern) // 4))


@define("matches", (STRING, STRING), BOOL, is_metered=True, names_types=False)
@define_method("matches", (STRING, STRING), BOOL, is_metered=True, names_types=False)
def matches(meter: Meter, text: str, pattern: str) -> bool:
    """Return whether a part of the text matches."""
    _charge_search(meter, len(text), pattern)
    return compile_pattern(pattern).search(text) is not None


@define_method("find", (STRING, STRING), STRING, is_metered=True)
def find(meter: Meter, text: str, pattern: str) -> str:
    """Return the first part that matches, or an empty text."""
    _charge_search(meter, len(text), pattern)
    match = compile_pattern(pattern).search(text)
    return match.group() if match is not None else ""


@define_method("findAll", (STRING, STRING), list_of(STRING), is_metered=True)
def find_all(meter: Meter, text: str, pattern: str) -> list[str]:
    """Return all parts that match."""
    return find_some(meter, text, pattern, -1)


@define_method("findAll", (STRING, STRING, INT), list_of(STRING), is_metered=True)
def find_some(meter: Meter, text: str, pattern: str, count: int) -> list[str]:
    """Return the first `count` parts that match; all if negative."""
    parts: list[str] = []
    end = -1
    for match in compile_pattern(pattern).finditer(text):
        if len(parts) == count:
            break
        _charge_search(meter, len(text) - max(end, 0), pattern)
        # Go has no empty match right after another match.
        if match.end() > match.start() or match.start() != end:
            parts.append(match.group())
        end = match.end()
    return parts
