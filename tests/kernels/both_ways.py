"""Kernels as they are installed, and as Python interprets their source."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from policysched.kernels import installation


def load_interpreted(name: str) -> Any:
    """Return a kernel's module, made from its source although there may be a compiled one."""
    [source] = [path for path in installation.list_kernels() if path.stem == name]
    spec = importlib.util.spec_from_file_location(f"interpreted_{name}", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_both(name: str) -> list[Any]:
    """Return the installed module of a kernel, and the interpreted one."""
    return [importlib.import_module(f"policysched.kernels.{name}"), load_interpreted(name)]
