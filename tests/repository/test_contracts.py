"""The import contracts name what is there."""

from __future__ import annotations

import pathlib
import tomllib

from policysched.framework import handles
from policysched.plugins import registry

PYPROJECT = pathlib.Path(__file__).parents[2] / "pyproject.toml"


def test_every_plugin_module_is_held_to_know_no_other() -> None:
    """A new plugin joins the contract, which cannot tell plugins from what they share."""
    contracts = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]
    held = next(c["modules"] for c in contracts if c["id"] == "plugins")
    built_in = registry.create_built_in_registry()
    handle = handles.Handle()
    made = [built_in.create_plugin(name, None, handle) for name in built_in.list_plugin_names()]
    modules = (".".join(type(plugin).__module__.split(".")[:3]) for plugin in made)
    assert sorted(modules) == sorted(held)
