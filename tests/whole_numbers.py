"""The whole numbers that people give to tests: as options, or in variables of the environment."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """Return an argparse type for whole numbers from `least` on."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"`{text}` is not a whole number from {least} on")
        return number

    return read


def read_variable(name: str, default: int, *, least: int) -> int:
    """Return the number in a variable of the environment.

    Raises:
        pytest.UsageError: it is no such number.
    """
    try:
        return at_least(least)(os.environ.get(name, str(default)))
    except argparse.ArgumentTypeError as error:
        raise pytest.UsageError(f"variable {name}: {error}") from None
