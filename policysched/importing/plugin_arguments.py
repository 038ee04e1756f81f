"""`pluginConfig`: arguments of plugins, brought into the form that policysched's plugins take."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from policysched.importing import fields, findings, plugin_facts

_KNOWN: dict[str, tuple[str, ...]] = {
    "DefaultPreemption": ("minCandidateNodesPercentage", "minCandidateNodesAbsolute"),
    "DynamicResources": ("filterTimeout", "bindingTimeout"),
    "InterPodAffinity": ("hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"),
    "NodeAffinity": ("addedAffinity",),
    "NodeResourcesBalancedAllocation": ("resources",),
    "NodeResourcesFit": ("ignoredResources", "ignoredResourceGroups", "scoringStrategy"),
    "NodeResourcesLeastAllocated": ("resources",),
    "NodeResourcesMostAllocated": ("resources",),
    "PodTopologySpread": ("defaultConstraints", "defaultingType"),
    "RequestedToCapacityRatio": ("resources", "shape"),
    "VolumeBinding": ("bindTimeoutSeconds",),
}
_NOT_HERE = "does not exist in policysched"
_ADVICE = "leave it out, or write as a policy what it is for"


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """Arguments of one plugin, without what policysched's does not take."""

    name: str
    place: findings.Place
    value: Mapping[str, Any]

    @property
    def is_strategy(self) -> bool:
        """Whether they belong to a former plugin that is a strategy now."""
        return self.name in plugin_facts.RESOURCE_STRATEGIES


def read(profile: fields.Fields, version: str) -> dict[str, Given]:
    """Return the arguments by plugin.

    Raises:
        InputError: a field has the wrong type.
    """
    found = {}
    for entry in profile.objects("pluginConfig"):
        name = entry.text("name")
        args = entry.object("args")
        if args is None:
            continue
        args.skip("apiVersion", "kind")
        known = _KNOWN.get(name)
        value = (
            {key: args.take(key) for key in known if key in args}
            if known is not None
            else dict(args.plain())
        )
        args.finish(_NOT_HERE, _ADVICE)
        if value:
            found[name] = Given(name, args.place, _adapted(name, value, version))
    return found


def as_strategy(given: Given | None) -> dict[str, Any]:
    """Return the arguments of a former plugin as part of a `scoringStrategy`."""
    if given is None:
        return {}
    value = dict(given.value)
    shape = value.pop("shape", None)
    if shape is not None:
        value["requestedToCapacityRatio"] = {"shape": shape}
    return value


def _adapted(name: str, value: dict[str, Any], version: str) -> dict[str, Any]:
    """Say what a version took for granted: constraints alone meant a list of them in v1beta1."""
    is_old_list = version == "v1beta1" and value.get("defaultConstraints")
    if name == "PodTopologySpread" and is_old_list:
        return {"defaultingType": "List"} | value
    return value
