"""The option `--seed`, for reproducible randomness."""

from __future__ import annotations

import argparse
import random

from policysched import int64

_LARGEST = 2**32 - 1


def add_seed_option(parser: argparse._ActionsContainer, help: str) -> None:  # noqa: A002 - argparse uses this name
    """Add the option, whose default is None."""
    parser.add_argument("--seed", metavar="N", type=_parse_seed, help=f"{help} (0 to {_LARGEST})")


def draw_random_seed() -> int:
    """Draw a seed from the operating system."""
    return random.SystemRandom().randrange(_LARGEST + 1)


def _parse_seed(text: str) -> int:
    """Parse a seed; negative seeds are refused, because Python's generator treats -1 like 1."""
    seed = int64.parse_unsigned_digits(text)
    if seed is None or seed > _LARGEST:
        problem = f"`{text}` is not a seed; write a number from 0 to {_LARGEST}"
        raise argparse.ArgumentTypeError(problem)
    return seed
