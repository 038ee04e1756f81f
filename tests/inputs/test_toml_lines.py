"""On which line keys of a TOML text stand."""

from __future__ import annotations

import tomllib
from typing import Any

from policysched.inputs import toml_lines

TEXT = '''\
# comment with [brackets] and a = b
top = 1
[lint]
select = [  # several lines
  "PS2", "a = b",
  "PS4",
]
levels = { PS208 = "warning", "PS 3" = 'x' }
'quoted key' = """
not = "a key"
[nor.a.table]
"""
a.b . "c.d" = 3

[lint.per-path]
"sandbox/*" = ["PS2"]
[[other]]
x = 1
'''


def paths(value: Any, at: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Return the path of each key."""
    if not isinstance(value, dict):
        return set()
    return {(*at, key) for key in value} | {
        path for key, each in value.items() for path in paths(each, (*at, key))
    }


def test_every_key_has_its_line() -> None:
    """Over arrays, strings of many lines, dotted keys and inline tables."""
    assert toml_lines.find_toml_key_lines(TEXT) == {
        ("top",): 2,
        ("lint",): 3,
        ("lint", "select"): 4,
        ("lint", "levels"): 8,
        ("lint", "levels", "PS208"): 8,
        ("lint", "levels", "PS 3"): 8,
        ("lint", "quoted key"): 9,
        ("lint", "a", "b", "c.d"): 13,
        ("lint", "per-path"): 15,
        ("lint", "per-path", "sandbox/*"): 16,
        ("other",): 17,
        ("other", "x"): 18,
    }
    known = set(toml_lines.find_toml_key_lines(TEXT)) | {("lint", "a"), ("lint", "a", "b")}
    assert paths(tomllib.loads(TEXT)) <= known
