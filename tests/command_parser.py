"""The parser of the commands that compare generated cases with a real component."""

from __future__ import annotations

import argparse
import random
from typing import NoReturn

from tests import whole_numbers


class CommandParser(argparse.ArgumentParser):
    """Ends wrong usage with exit code 3, as the commands of policysched do."""

    def error(self, message: str) -> NoReturn:
        """Print the error, and end."""
        self.exit(3, f"{self.prog}: {message}\n")

    def add_seed(self) -> None:
        """Add `--seed`; without it, the seed is drawn."""
        self.add_argument(
            "--seed",
            type=whole_numbers.at_least(0),
            default=random.SystemRandom().randrange(10**6),
            help="default: any",
        )
