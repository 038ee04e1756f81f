"""policysched as a process that is ended when it takes more than a little memory and CPU time."""

from __future__ import annotations

import os
import pathlib
import resource
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]

CPU_SECONDS = 60
MEMORY_BYTES = 4 * 1024**3  # of address space, of which NumPy's libraries reserve the most


def python(*arguments: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, and return what came of it."""

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(_ROOT)}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=confine,
    )
