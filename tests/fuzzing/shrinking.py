"""Makes a failing case small, as long as it fails in the same way."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzzing import cases

_SECONDS = 20.0


def shrink(case: cases.Case, fails: Callable[[cases.Case], bool]) -> cases.Case:
    """Return a small case that `fails`, found in limited time."""
    deadline = time.monotonic() + _SECONDS
    is_smaller = True
    while is_smaller and time.monotonic() < deadline:
        is_smaller = False
        for candidate in _smaller(case):
            if time.monotonic() > deadline:
                break
            if fails(candidate):
                case, is_smaller = candidate, True
                break
    return case


def _smaller(case: cases.Case) -> Iterator[cases.Case]:
    for name in case.files:
        rest = {other: content for other, content in case.files.items() if other != name}
        yield dataclasses.replace(case, files=rest)
    for at in range(1, len(case.argv)):
        yield dataclasses.replace(case, argv=(*case.argv[:at], *case.argv[at + 1 :]))
    for name, content in case.files.items():
        for shorter in _shorter(content):
            yield dataclasses.replace(case, files={**case.files, name: shorter})
    for shorter in _shorter(case.stdin):
        yield dataclasses.replace(case, stdin=shorter)


def _shorter(content: bytes) -> Iterator[bytes]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        for smaller in _without_one(value):
            yield json.dumps(smaller).encode()
    yield from _cut(content)


def _without_one(value: Any) -> Iterator[Any]:
    """Yield a value without each of its parts, the large ones first."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        copied = value.copy()
        del copied[key]
        yield copied
    for key in keys:
        if isinstance(value[key], dict | list):
            for inner in _without_one(value[key]):
                copied = value.copy()
                copied[key] = inner
                yield copied


def _cut(content: bytes) -> Iterator[bytes]:
    size = len(content) // 2
    while size:
        for at in range(0, len(content), size):
            yield content[:at] + content[at + size :]
        size //= 2 if size > 8 else 8
