"""Entry point of `python -m policysched` and of the program `policysched`."""

from __future__ import annotations

import os
from typing import NoReturn

from policysched.cli import fast_exit, main


def run() -> NoReturn:
    """Run the command line and exit the process with the resulting exit code."""
    # NumPy's OpenBLAS takes 30 ms to start its threads, which only products of matrices would use.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    fast_exit.enable_fast_exit()
    fast_exit.exit_process(main.main())


if __name__ == "__main__":
    run()
