"""Columns that a text takes on a terminal."""

from __future__ import annotations

import pytest

from policysched import display_width


@pytest.mark.parametrize(
    "text, columns",
    [
        pytest.param("web-1", 5, id="ascii"),
        pytest.param("é", 1, id="letter"),
        pytest.param("e\u0301", 1, id="accent-of-its-own"),
        pytest.param("ก\u0e31", 1, id="mark-without-combining-class"),
        pytest.param("節点", 4, id="wide"),
        pytest.param("\N{FULLWIDTH LATIN CAPITAL LETTER A}", 2, id="full-width"),
    ],
)
def test_columns_of_a_text(text: str, columns: int) -> None:
    """Wide letters take two columns, marks over a letter none."""
    assert display_width.count_display_columns(text) == columns
