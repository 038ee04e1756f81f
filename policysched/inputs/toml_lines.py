"""Finds the line of each key in a TOML text, which `tomllib` does not report.

The text must be valid TOML, which `tomllib` has already parsed: errors are not detected here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

Path: TypeAlias = tuple[str, ...]

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEYS = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_LINE = re.compile(
    rf"[ \t]*(?:\[\[?[ \t]*(?P<table>{_KEYS})[ \t]*\]|(?P<keys>{_KEYS})[ \t]*=(?P<value>[^\n]*))"
)
_SKIPPED = re.compile(
    r"""\"{3}.*?\"{3,5}|'{3}.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\#[^\n]*|[\[{]|[\]}]""",
    re.DOTALL,
)


def find_toml_key_lines(text: str) -> Mapping[Path, int]:
    """Return the 1-based line of each table and key, keyed by the path of names."""
    found: dict[Path, int] = {}
    table: Path = ()
    index, line = 0, 1
    while index < len(text):
        match = _LINE.match(text, index)
        if match and match["table"]:
            table = _split_dotted_key(match["table"])
            found.setdefault(table, line)
        elif match:
            found.setdefault((*table, *_split_dotted_key(match["keys"])), line)
            for names in _list_inline_keys(match["value"]):
                found.setdefault((*table, *_split_dotted_key(match["keys"]), *names), line)
        end = _find_value_end(text, match.start("value") if match and match["keys"] else index)
        line += text.count("\n", index, end)
        index = end
    return found


def _split_dotted_key(dotted: str) -> Path:
    return tuple(name.strip("\"'") for name in re.findall(_KEY, dotted))


def _list_inline_keys(value: str) -> list[Path]:
    """Return the keys of an inline table and of the tables nested in it, without prefixes."""
    if not value.lstrip().startswith("{"):
        return []
    return [
        _split_dotted_key(match[1]) for match in re.finditer(rf"[{{,][ \t]*({_KEYS})[ \t]*=", value)
    ]


def _find_value_end(text: str, index: int) -> int:
    """Return the offset of the line after a value, which can span several lines."""
    depth = 0
    while True:
        newline = text.find("\n", index)
        newline = len(text) if newline < 0 else newline
        match = _SKIPPED.search(text, index)
        if match is None or match.start() > newline:
            if depth <= 0 or newline == len(text):
                return newline + 1
            index = newline + 1
            continue
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        index = match.end()
