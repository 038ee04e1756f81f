"""Rules are found by the names of their modules."""

from __future__ import annotations

import importlib
import pkgutil
import re

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rules


def test_every_code_has_one_module_that_carries_its_name() -> None:
    """`PS204` is in `ps204_shadowed_rule`, and no other module is among the rules."""
    names = [found.name for found in pkgutil.iter_modules(rules.__path__)]
    assert all(re.fullmatch(r"ps\d{3}_[a-z0-9_]+", name) for name in names)
    codes = [importlib.import_module(f"{rules.__name__}.{name}").RULE.code for name in names]
    assert codes == [name[:5].upper() for name in names]
    assert codes == sorted(diagnostics.LINT_CODES)
