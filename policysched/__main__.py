"""`python -m policysched`, and the program `policysched`."""

from __future__ import annotations

from typing import NoReturn

from policysched.cli import fast_exit, main


def run() -> NoReturn:
    """Run the command line of the process and end it with its exit code."""
    fast_exit.enable_fast_exit()
    fast_exit.exit_process(main.main())


if __name__ == "__main__":
    run()
