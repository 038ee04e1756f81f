"""How this installation runs the kernels: compiled, or interpreted."""

from __future__ import annotations

import hashlib
import importlib
import logging
import pathlib

from policysched import errors

_log = logging.getLogger("policysched")

_FOLDER = pathlib.Path(__file__).parent
_STAND_IN = "from policysched.kernels import cython_stand_in as cython\n"


def list_kernels() -> list[pathlib.Path]:
    """Return the sources of all kernels: the modules that import the stand-in of Cython."""
    modules = sorted(_FOLDER.glob("*.py"))
    return [path for path in modules if f"\n{_STAND_IN}" in path.read_text(encoding="utf-8")]


def list_interpreted_kernels() -> list[str]:
    """Return the names of the kernels that Python interprets.

    Raises:
        PolicySchedError: a compiled kernel was made from another version of its source.
    """
    interpreted = []
    for source in list_kernels():
        module = importlib.import_module(f"policysched.kernels.{source.stem}")
        compiled_from = getattr(module, "SOURCE_SHA256", None)
        if compiled_from is None:
            interpreted.append(source.stem)
        elif compiled_from != hashlib.sha256(source.read_bytes()).hexdigest():
            msg = (
                f"{source} was changed after it was compiled: "
                "run `make .venv/ready`, or install policysched again"
            )
            raise errors.PolicySchedError(msg)
    return interpreted


def warn_of_interpreted_kernels() -> None:
    """Log a warning if Python interprets kernels.

    Raises:
        PolicySchedError: as `list_interpreted_kernels`.
    """
    interpreted = list_interpreted_kernels()
    if interpreted:
        _log.warning(
            "the kernels %s are not compiled, so scheduling is slow on clusters with hundreds of "
            "nodes; install policysched with a C compiler",
            " and ".join(interpreted),
        )
