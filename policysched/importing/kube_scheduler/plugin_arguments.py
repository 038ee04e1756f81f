"""Converts `pluginConfig`, the arguments of plugins, to the arguments that policysched accepts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from policysched import errors
from policysched.importing.facts import plugin_facts
from policysched.importing.reading import fields
from policysched.importing.result import findings, policy_text
from policysched.inputs import plain_yaml
from policysched.lang.words import numerals

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
_ADVICE = "remove it, or express its purpose as a policy"
_LONGER = "it ends attempts in large clusters if it is short; without it, the limit is 5 seconds"


@dataclasses.dataclass(frozen=True, slots=True)
class PluginArguments:
    """The arguments of one plugin, without those that policysched's plugin does not accept."""

    name: str
    place: findings.ValueLocation
    value: Mapping[str, Any]

    @property
    def is_strategy(self) -> bool:
        """Whether the plugin no longer exists and is now a strategy of NodeResourcesFit."""
        return self.name in plugin_facts.RESOURCE_STRATEGIES


def read_plugin_arguments(profile: fields.StrictFields, version: str) -> dict[str, PluginArguments]:
    """Return the arguments in `pluginConfig`, keyed by plugin name.

    Raises:
        InputError: a field has the wrong type, or contains a number that no policy can contain.
    """
    found = {}
    for entry in profile.read_objects("pluginConfig"):
        name = entry.read_text("name")
        args = entry.read_object("args")
        if args is None:
            continue
        args.skip_fields("apiVersion", "kind")
        known = _KNOWN.get(name)
        value = (
            {key: args.read_value(key) for key in known if key in args}
            if known is not None
            else dict(args.read_all_values())
        )
        args.report_unread_fields(_NOT_HERE, _ADVICE)
        if "filterTimeout" in value:
            problem = "`filterTimeout` is for one node there, and for all nodes together here"
            args.report.note(args.locate_field("filterTimeout"), problem, _LONGER)
        _refuse_long_numbers(value, args.place)
        if value:
            found[name] = PluginArguments(
                name, args.place, _add_version_defaults(name, value, version)
            )
    return found


def _refuse_long_numbers(value: plain_yaml.Value, place: findings.ValueLocation) -> None:
    """Refuse numbers with more digits than a policy allows."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            _refuse_long_numbers(inner, place.locate_child(key))
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and len(policy_text.format_number(value)) > numerals.MAX_DIGITS:
        problem = f"`{place.dotted_path}` has more than {numerals.MAX_DIGITS} digits"
        raise errors.InputError(f"{place.where}:{place.line}", problem)


def convert_to_scoring_strategy(given: PluginArguments | None) -> dict[str, Any]:
    """Return the arguments of a former plugin as part of a `scoringStrategy`."""
    if given is None:
        return {}
    value = dict(given.value)
    shape = value.pop("shape", None)
    if shape is not None:
        value["requestedToCapacityRatio"] = {"shape": shape}
    return value


def _add_version_defaults(name: str, value: dict[str, Any], version: str) -> dict[str, Any]:
    """Add the defaults of a version: in v1beta1, `defaultConstraints` implied the type List."""
    is_old_list = version == "v1beta1" and value.get("defaultConstraints")
    if name == "PodTopologySpread" and is_old_list:
        return {"defaultingType": "List"} | value
    return value
