"""Create plugins by name: built-in plugins, and plugins of other packages.

A package provides plugins through entry points of the group `policysched.plugins`:

    [project.entry-points."policysched.plugins"]
    ZoneBudget = "zone_budget:ZoneBudget.from_args"

The value is a callable `(args, handle) -> plugin`. It is imported when a profile names the plugin,
so a package that cannot be imported affects only the profiles that use it. To reject arguments, the
callable raises `ValueError` with a message for the author of the profile.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from typing import TypeAlias

from policysched.framework import asking, declaration_checks, handles, interface
from policysched.plugins import (
    arguments,
    default_binder,
    default_preemption,
    image_locality,
    names,
    node_declared_features,
    node_name,
    node_ports,
    node_resources_balanced_allocation,
    node_resources_fit,
    node_unschedulable,
    pod_groups,
    priority_sort,
    scheduling_gates,
    taint_toleration,
)
from policysched.plugins.dynamic_resources import dynamic_resources
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from policysched.plugins.node_affinity import node_affinity
from policysched.plugins.node_volume_limits import node_volume_limits
from policysched.plugins.pod_topology_spread import pod_topology_spread
from policysched.plugins.volume_binding import volume_binding
from policysched.plugins.volume_restrictions import volume_restrictions
from policysched.plugins.volume_zone import volume_zone

ENTRY_POINT_GROUP = "policysched.plugins"

PluginFactory: TypeAlias = Callable[[arguments.Arguments, handles.Handle], interface.Plugin]


@dataclasses.dataclass(frozen=True, slots=True)
class PluginCreationError:
    """The reason why a plugin could not be created, to display next to its name.

    Attributes:
        plugin: requested name.
        problem: description in lower case, without a full stop.
        known: available names if the requested name is unknown, otherwise empty.
    """

    plugin: str
    problem: str
    known: tuple[str, ...] = ()


class PluginRegistry:
    """Creates plugins by name."""

    def __init__(self, factories: Mapping[str, PluginFactory]) -> None:
        """Use `factories`, keyed by plugin name."""
        self._factories = dict(factories)

    def list_plugin_names(self) -> tuple[str, ...]:
        """Return the names of all plugins, sorted."""
        return tuple(sorted(self._factories))

    def create_plugin(
        self, name: str, args: arguments.Arguments | None, handle: handles.Handle
    ) -> interface.Plugin | PluginCreationError:
        """Return the plugin, or the reason why it cannot be created.

        This runs third-party code; every exception becomes an error of that plugin.
        """
        factory = self._factories.get(name)
        if factory is None:
            return PluginCreationError(
                name, f"there is no plugin `{name}`", self.list_plugin_names()
            )
        try:
            plugin = factory(args or {}, handle)
            problem = _find_problem(name, plugin)
        except Exception as error:  # noqa: BLE001 - see the docstring
            return PluginCreationError(name, _format_load_error(name, error))
        return PluginCreationError(name, problem) if problem else plugin


def create_built_in_registry() -> PluginRegistry:
    """Return a registry with only the built-in plugins."""
    return PluginRegistry(_BUILT_IN)


def create_installed_registry(
    entry_points: Iterable[metadata.EntryPoint] | None = None,
) -> PluginRegistry:
    """Return a registry with the built-in plugins and the plugins of installed packages.

    Entry points cannot override built-in names. By default, `entry_points` are all installed entry
    points of the group.
    """
    if entry_points is None:
        entry_points = metadata.entry_points(group=ENTRY_POINT_GROUP)
    return PluginRegistry({p.name: _make_entry_point_factory(p) for p in entry_points} | _BUILT_IN)


def _make_entry_point_factory(entry_point: metadata.EntryPoint) -> PluginFactory:
    def make(args: arguments.Arguments, handle: handles.Handle) -> interface.Plugin:
        factory: PluginFactory = entry_point.load()
        return factory(args, handle)

    return make


def _find_problem(name: str, plugin: interface.Plugin) -> str:
    """Return the first problem of a plugin that its factory made, "" for none."""
    if getattr(plugin, "name", None) != name:
        return f"`{name}` does not create a plugin of that name"
    is_checked = asking.is_third_party(plugin)
    return declaration_checks.find_declaration_problem(plugin) if is_checked else ""


def _format_load_error(name: str, error: Exception) -> str:
    if isinstance(error, ValueError):
        return str(error)
    return f"plugin `{name}` does not load: {type(error).__name__}: {error}"


def _make_factory_without_args(make: Callable[[], interface.Plugin]) -> PluginFactory:
    """Return the factory of a plugin that has no arguments."""

    def factory(args: arguments.Arguments, handle: handles.Handle) -> interface.Plugin:
        del handle
        arguments.refuse_any_arguments(args)
        return make()

    return factory


def _make_factory_with_args(
    make: Callable[[arguments.Arguments], interface.Plugin],
) -> PluginFactory:
    """Return the factory of a plugin that has arguments but needs no handle."""
    return lambda args, _handle: make(args)


def _make_default_binder(args: arguments.Arguments, handle: handles.Handle) -> interface.Plugin:
    arguments.refuse_any_arguments(args)
    return default_binder.DefaultBinder(handle.binder)


_BUILT_IN: dict[str, PluginFactory] = {
    names.DEFAULT_BINDER: _make_default_binder,
    names.DEFAULT_PREEMPTION: default_preemption.DefaultPreemption.from_args,
    names.DYNAMIC_RESOURCES: dynamic_resources.DynamicResources.from_args,
    names.IMAGE_LOCALITY: _make_factory_without_args(image_locality.ImageLocality),
    names.INTER_POD_AFFINITY: _make_factory_with_args(
        inter_pod_affinity.InterPodAffinity.from_args
    ),
    names.NODE_AFFINITY: _make_factory_with_args(node_affinity.NodeAffinity.from_args),
    names.NODE_DECLARED_FEATURES: _make_factory_without_args(
        node_declared_features.NodeDeclaredFeatures
    ),
    names.NODE_NAME: _make_factory_without_args(node_name.NodeName),
    names.NODE_PORTS: _make_factory_without_args(node_ports.NodePorts),
    names.NODE_RESOURCES_BALANCED_ALLOCATION: _make_factory_with_args(
        node_resources_balanced_allocation.NodeResourcesBalancedAllocation.from_args
    ),
    names.NODE_RESOURCES_FIT: node_resources_fit.NodeResourcesFit.from_args,
    names.NODE_UNSCHEDULABLE: _make_factory_without_args(node_unschedulable.NodeUnschedulable),
    names.NODE_VOLUME_LIMITS: _make_factory_without_args(node_volume_limits.NodeVolumeLimits),
    names.POD_GROUPS: _make_factory_without_args(pod_groups.PodGroups),
    names.POD_TOPOLOGY_SPREAD: lambda args, handle: pod_topology_spread.PodTopologySpread.from_args(
        args, handle.owners
    ),
    names.PRIORITY_SORT: _make_factory_without_args(priority_sort.PrioritySort),
    names.SCHEDULING_GATES: _make_factory_without_args(scheduling_gates.SchedulingGates),
    names.TAINT_TOLERATION: _make_factory_without_args(taint_toleration.TaintToleration),
    names.VOLUME_BINDING: volume_binding.VolumeBinding.from_args,
    names.VOLUME_RESTRICTIONS: _make_factory_without_args(volume_restrictions.VolumeRestrictions),
    names.VOLUME_ZONE: _make_factory_without_args(volume_zone.VolumeZone),
}
