"""Check that the plugins named in a configuration exist and accept their arguments."""

from __future__ import annotations

from collections.abc import Iterator

from policysched import spelling
from policysched.config import config
from policysched.framework import handles, interface
from policysched.inputs import plain_yaml
from policysched.plugins import registry


def find_plugin_problems(
    profiles: tuple[config.ProfileConfig, ...],
) -> Iterator[tuple[plain_yaml.Path, str]]:
    """Yield the problems, each with the path to the name or the arguments of the plugin at fault.

    Arguments of third-party plugins are not checked: `run` reports their errors when it
    creates the plugins.
    """
    installed = registry.create_installed_registry()
    for path, name in _list_plugin_names(profiles):
        if name not in installed.list_plugin_names():
            advice = spelling.suggest_names(name, installed.list_plugin_names())
            yield path, f"there is no plugin `{name}`" + (f" ({advice})" if advice else "")
    built_in = registry.create_built_in_registry()
    for index, profile in enumerate(profiles):
        for number, plugin in enumerate(profile.plugins):
            if plugin.args and plugin.name in built_in.list_plugin_names():
                made = _make_built_in_plugin(built_in, plugin)
                if isinstance(made, registry.PluginCreationError):
                    path = ("profiles", index, "plugins", number, "args")
                    yield path, f"{plugin.name}: {made.problem}"


def _make_built_in_plugin(
    built_in: registry.PluginRegistry, plugin: config.PluginConfig
) -> interface.Plugin | registry.PluginCreationError:
    return built_in.create_plugin(plugin.name, plugin.args, handles.Handle())


def _list_plugin_names(
    profiles: tuple[config.ProfileConfig, ...],
) -> Iterator[tuple[plain_yaml.Path, str]]:
    """Yield the plugin names in `plugins`, `disabled` and `disabledScores`, with their paths."""
    for index, profile in enumerate(profiles):
        for number, plugin in enumerate(profile.plugins):
            yield ("profiles", index, "plugins", number, "name"), plugin.name
        for field, names in (
            ("disabled", profile.disabled),
            ("disabledScores", profile.disabled_scores),
        ):
            for number, name in enumerate(names):
                yield ("profiles", index, field, number), name
