"""Computes the effective settings of plugins, so that a written default is not a difference."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import msgspec

from policysched.plugins import arguments, default_preemption, defaults, names
from policysched.plugins.dynamic_resources import dynamic_resources
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from policysched.plugins.node_affinity import added_affinity
from policysched.plugins.pod_topology_spread import spread_constraints
from policysched.plugins.shared import resource_arguments
from policysched.plugins.volume_binding import volume_binding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policysched.lang.checked import checked

_ARGUMENTS: Final[Mapping[str, type[arguments.ArgumentStruct]]] = {
    names.DEFAULT_PREEMPTION: default_preemption.DefaultPreemptionArgs,
    names.DYNAMIC_RESOURCES: dynamic_resources.DynamicResourcesArgs,
    names.INTER_POD_AFFINITY: inter_pod_affinity.InterPodAffinityArgs,
    names.NODE_AFFINITY: added_affinity.NodeAffinityArgs,
    names.NODE_RESOURCES_BALANCED_ALLOCATION: resource_arguments.BalancedAllocationArgs,
    names.NODE_RESOURCES_FIT: resource_arguments.NodeResourcesFitArgs,
    names.POD_TOPOLOGY_SPREAD: spread_constraints.PodTopologySpreadArgs,
    names.VOLUME_BINDING: volume_binding.VolumeBindingArgs,
}
"""Maps a plugin to the type of its arguments; other arguments are compared as written."""


@dataclasses.dataclass(frozen=True, slots=True)
class PluginEffect:
    """The effective settings of a plugin in a profile.

    Attributes:
        is_on: whether the plugin is enabled.
        weight: the weight of its score before `builtin weight` applies; None if it does not score.
        args: the arguments including defaults; None for a disabled plugin.
    """

    is_on: bool
    weight: int | None = None
    args: object = None


def compute_effective_plugin_settings(profile: checked.CheckedProfile, name: str) -> PluginEffect:
    """Return the effective settings of a plugin in a profile."""
    setting = next((each for each in profile.plugins if each.name == name), None)
    usual = defaults.DEFAULT_WEIGHTS.get(name)
    if name in profile.disabled or (setting is None and usual is None):
        return PluginEffect(is_on=False)
    given = setting.weight if setting is not None else None
    is_score_off = name in profile.disabled_scores or (
        profile.disable_all_scores and usual is not None and given is None
    )
    weight = None if is_score_off else given or usual or 1
    return PluginEffect(
        True, weight, _decode_plugin_arguments(name, (setting and setting.args) or {})
    )


def _decode_plugin_arguments(name: str, args: arguments.Arguments) -> object:
    """Return the arguments with defaults applied and resources in a comparable form."""
    kind = _ARGUMENTS.get(name)
    match arguments.decode_arguments(args, kind) if kind is not None else args:
        case resource_arguments.BalancedAllocationArgs(resources=resources):
            return resource_arguments.get_resource_names(resources)
        case resource_arguments.NodeResourcesFitArgs(scoring_strategy=strategy) as given:
            resources = strategy.resources
            plain = msgspec.structs.replace(strategy, resources=())
            given = msgspec.structs.replace(given, scoring_strategy=plain)
            return given, resource_arguments.get_weighted_resources(resources)
        case decoded:
            return decoded
