from __future__ import annotations

import pathlib

import pytest

from policysched.lang.checking import checker
from tests.lang import chunked

CHUNKS = chunked.chunks(pathlib.Path(__file__).parent / "cases")


@pytest.mark.parametrize("chunk", [pytest.param(each, id=each.name) for each in CHUNKS])
def test_a_text_has_exactly_the_errors_that_it_says(chunk: chunked.Chunk) -> None:
    """Every diagnostic stands on the line that expects it, and no other one appears."""
    result = checker.check([chunk.text])
    assert chunked.problems(chunk, result.diagnostics) == []
    assert (result.program is None) == bool(chunk.expected)
