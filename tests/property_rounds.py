"""`python -m tests.property_rounds`: the property tests, with fresh examples in each round."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from tests import whole_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROUND: Final = ("-m", "pytest", "-q", "-m", "hypothesis", "--hypothesis-profile=fuzz")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rounds; return 0, or at once the exit code of one that fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.property_rounds", description=__doc__)
    parser.add_argument("--rounds", type=whole_numbers.at_least(1), default=50)
    args = parser.parse_args(arguments)
    rounds = (
        subprocess.run((sys.executable, *_ROUND), check=False).returncode
        for _ in range(args.rounds)
    )
    return next(filter(None, rounds), 0)


if __name__ == "__main__":
    # Ctrl-C reaches pytest, too, whose end this process waits for.
    signal.signal(signal.SIGINT, lambda *_: None)
    sys.exit(main())
