"""The registry of built-in and entry point plugins, and the selection by `--plugins`.

Source: Karmada v1.18.2 `pkg/scheduler/framework/runtime/registry.go`.
"""

from __future__ import annotations

import functools
from importlib import metadata
from typing import TYPE_CHECKING, TypeAlias

from policysched import errors
from policysched.karmada import interface
from policysched.karmada.plugins import (
    api_enablement,
    cluster_affinity,
    cluster_eviction,
    cluster_locality,
    spread_constraint,
    taint_toleration,
    workload_affinity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


ENTRY_POINT_GROUP = "policysched.karmada_plugins"

Factory: TypeAlias = "Callable[[], interface.ClusterPlugin]"


def make_built_in_factories(*, with_workload_affinity: bool = False) -> dict[str, Factory]:
    """Return the factories of Karmada's plugins, keyed by name, in call order."""
    plugins: list[Factory] = [
        cluster_eviction.ClusterEvictionPlugin,
        api_enablement.APIEnablementPlugin,
        taint_toleration.TaintTolerationPlugin,
        cluster_affinity.ClusterAffinityPlugin,
        spread_constraint.SpreadConstraintPlugin,
        cluster_locality.ClusterLocalityPlugin,
    ]
    if with_workload_affinity:
        plugins += [
            workload_affinity.WorkloadAffinityPlugin,
            workload_affinity.WorkloadAntiAffinityPlugin,
        ]
    return {plugin().name: plugin for plugin in plugins}


def add_entry_point_plugins(
    own: Mapping[str, Factory], entry_points: Iterable[metadata.EntryPoint] | None = None
) -> dict[str, Factory]:
    """Return the plugins `own`, followed by the plugins of installed packages.

    `entry_points` defaults to all installed entry points of the group. Each names a class or a
    function that is called without arguments. This function does not load them.

    Raises:
        ConfigurationError: an entry point has the name of another plugin.
    """
    registry = dict(own)
    if entry_points is None:
        entry_points = metadata.entry_points(group=ENTRY_POINT_GROUP)
    for entry_point in entry_points:
        if entry_point.name in registry:
            raise errors.ConfigurationError(
                "--plugins", f"a plugin named {entry_point.name} already exists"
            )
        registry[entry_point.name] = functools.partial(_load_cluster_plugin, entry_point)
    return registry


def create_selected_plugins(
    registry: Mapping[str, Factory], said: Iterable[str]
) -> list[interface.ClusterPlugin]:
    """Create the plugins that `--plugins` selects, in the order of the registry.

    Args:
        registry: the factories of all plugins, keyed by name.
        said: the words of the option in order: `*` selects all plugins, `name` adds a plugin,
            and `-name` removes it. Unknown names are ignored.

    Raises:
        ConfigurationError: a plugin of another package cannot be created.
    """
    words = list(said)
    names = list(registry) if "*" in words else []
    for word in words:
        if word in registry and word not in names:
            names.append(word)
        elif word.startswith("-") and word.lstrip("-") in names:
            names.remove(word.lstrip("-"))
    return [make() for name, make in registry.items() if name in names]


def find_unknown_plugins(registry: Iterable[str], said: Iterable[str]) -> list[str]:
    """Return the names in `said` that are not in the registry."""
    known = {"*", "", *registry}
    return [word for word in said if word not in known and word.lstrip("-") not in known]


def _load_cluster_plugin(entry_point: metadata.EntryPoint) -> interface.ClusterPlugin:
    """Load and create the plugin of an entry point, and check its interface."""
    try:
        plugin = entry_point.load()()
    except Exception as error:
        told = f"does not load: {type(error).__name__}: {error}"
        raise errors.ConfigurationError(f"plugin `{entry_point.name}`", told) from error
    if getattr(plugin, "name", None) != entry_point.name:
        told = "does not create a plugin of that name"
        raise errors.ConfigurationError(f"plugin `{entry_point.name}`", told)
    if not isinstance(plugin, interface.ClusterFilterPlugin | interface.ClusterScorePlugin):
        raise errors.ConfigurationError(
            f"plugin `{entry_point.name}`", "neither filters nor scores"
        )
    return plugin
