"""Rules are found by the names of their modules."""

from __future__ import annotations

import importlib
import pathlib
import re

from policysched.lang.diagnostics import diagnostics
from policysched.lint import registry, rules


def test_every_code_has_one_module_that_carries_its_name() -> None:
    """`PS204` is in `ps204_shadowed_rule`, and no other module is among the rules."""
    modules = registry.map_codes_to_modules()
    assert set(modules) == set(diagnostics.LINT_CODES)
    for code, name in modules.items():
        assert re.fullmatch(r"ps\d{3}_[a-z0-9_]+", name.rpartition(".")[2])
        assert importlib.import_module(name).RULE.code == code
    folder = pathlib.Path(rules.__file__).parent
    assert len(list(folder.rglob("ps*.py"))) == len(modules)
