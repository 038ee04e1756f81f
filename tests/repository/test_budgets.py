"""Size budgets: code that grows past them is split, not excused."""

from __future__ import annotations

import ast
import functools
import pathlib
import statistics

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "policysched"

MODULE_LINES = 500
FUNCTION_LINES = 60
MEDIAN_FUNCTION_LINES = 12


@functools.cache
def _function_lines() -> dict[str, int]:
    """Return the number of lines of every function, docstring included."""
    return {
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}": (node.end_lineno or 0)
        - node.lineno
        + 1
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_no_module_is_too_long() -> None:
    """A module has one subject that fits in one reading."""
    lines = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert {name: count for name, count in lines.items() if count > MODULE_LINES} == {}


def test_no_function_is_too_long() -> None:
    """A function fits on a screen."""
    lines = _function_lines()
    assert {name: count for name, count in lines.items() if count > FUNCTION_LINES} == {}


def test_the_usual_function_is_short() -> None:
    """Half of all functions are read at a glance."""
    assert statistics.median(_function_lines().values()) <= MEDIAN_FUNCTION_LINES
