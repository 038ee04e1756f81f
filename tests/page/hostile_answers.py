"""What a hostile process could send in the place of a scheduler's answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

HTML = "<img src=x onerror=alert(1)>\u202eevil\u200b"
ANYTHING: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**18,
    10**30,
    1e300,
    -0.5,
    "",
    HTML,
    "x" * 100_000,
    [],
    {},
    [[[]]],
    {HTML: HTML},
)
"""Values of each type, small, large and of another type than the field's."""
BODIES = {
    "nothing": b"",
    "no JSON": b"<html><script>alert(1)</script></html>",
    "null": b"null",
    "a list": b"[1,2]",
    "empty": b"{}",
    "NaN": b'{"form": NaN}',
    "infinite": b'{"generation": 1e400}',
    "a long number": b'{"generation": ' + b"9" * 100_000 + b"}",
    "deep": b'{"decisions":' * 100_000,
    "deep list": b"[" * 1_000_000,
    "no UTF-8": b'{"a": "\xff\xfe"}',
    "half a surrogate": b'{"a": "\\ud800"}',
    "two documents": b"{}{}",
}
"""Bodies that are no page of a scheduler."""

Place = tuple[str | int, ...]


def list_places(document: Any) -> Iterator[Place]:
    """Yield the place of each value in a document, of lists only that of the first item."""
    yield ()
    if isinstance(document, dict):
        items: list[tuple[str | int, Any]] = list(document.items())
    else:
        items = [(0, document[0])] if isinstance(document, list) and document else []
    for key, value in items:
        for place in list_places(value):
            yield (key, *place)


def replace_value(document: Any, place: Place, value: Any) -> Any:
    """Return the document with another value at a place."""
    if not place:
        return value
    copied = json.loads(json.dumps(document))
    group = copied
    for key in place[:-1]:
        group = group[key]
    group[place[-1]] = value
    return copied


def replace_all_texts(document: Any, make: Callable[[str], str]) -> Any:
    """Return the document with another text in the place of each text."""
    if isinstance(document, dict):
        return {key: replace_all_texts(value, make) for key, value in document.items()}
    if isinstance(document, list):
        return [replace_all_texts(value, make) for value in document]
    return make(document) if isinstance(document, str) else document
