from __future__ import annotations

import argparse

import pytest

from policysched import booleans
from policysched.cli.options import run_flags

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


def test_the_words_of_go() -> None:
    """All twelve words of `strconv.ParseBool` are booleans."""
    assert [booleans.parse_boolean(word) for word in _TRUE] == [True] * 6
    assert [booleans.parse_boolean(word) for word in _FALSE] == [False] * 6


@pytest.mark.parametrize("text", ["", "treu", "tRUE", "yes", "on", "2", " true", "TRUE\n"])
def test_other_words(text: str) -> None:
    """Other words are no booleans, and options of `run` refuse them."""
    assert booleans.parse_boolean(text) is None
    with pytest.raises(argparse.ArgumentTypeError, match="neither `true` nor `false`"):
        run_flags.parse_boolean(text)
