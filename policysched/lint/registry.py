"""All rules, in the order of their codes."""

from __future__ import annotations

import functools
import importlib

from policysched.lang import diagnostics
from policysched.lint import rule


@functools.cache
def rules() -> tuple[rule.Rule, ...]:
    """Return the rules: `RULE` of the module of each code."""
    return tuple(
        importlib.import_module(f"policysched.lint.rules.{code.lower()}").RULE
        for code in sorted(diagnostics.LINT_CODES)
    )
