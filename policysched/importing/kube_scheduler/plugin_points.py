"""Which plugin acts at which extension point: `plugins` of a profile, as kube-scheduler reads it.

Sources: `mergePluginSet` of `apis/config/v1/default_plugins.go` and `expandMultiPointPlugins` of
`framework/runtime/framework.go`: what stands at a point comes before `multiPoint`, `disabled` takes
away defaults only, and `*` all of them.
"""

from __future__ import annotations

import dataclasses

from policysched.importing.facts import plugin_facts
from policysched.importing.reading import fields
from policysched.importing.result import findings

ALL = "*"
MULTI = "multiPoint"
_POINTS = (
    *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score"),
    *("reserve", "permit", "preBind", "bind", "postBind"),
)
_GROUP_POINTS = ("placementGenerate", "placementScore")
"""Where plugins choose places for pods of a group together; written files have them, empty."""


@dataclasses.dataclass(slots=True)
class PluginPoints:
    """What is enabled.

    Attributes:
        weights: point → plugin → weight.
        places: plugin → where the source last names it; under `*`, where it takes away all.
        strangers: plugins that kube-scheduler never had, with a place.
    """

    weights: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    places: dict[str, findings.ValueLocation] = dataclasses.field(default_factory=dict)
    out_of_tree: dict[str, findings.ValueLocation] = dataclasses.field(default_factory=dict)

    def find_points(self, name: str) -> frozenset[str]:
        """Return the points at which a plugin is enabled."""
        return frozenset(point for point, plugins in self.weights.items() if name in plugins)

    def get_location(self, name: str, default: findings.ValueLocation) -> findings.ValueLocation:
        """Return where the source says something about a plugin."""
        return self.places.get(name) or self.places.get(ALL) or default

    def get_origin_comment(self, name: str) -> str:
        """Return the same for a comment, "" where nothing is said."""
        place = self.places.get(name) or self.places.get(ALL)
        return place.origin_comment if place else ""


@dataclasses.dataclass(slots=True)
class _PluginSet:
    """`enabled` and `disabled` of one point."""

    enabled: dict[str, int] = dataclasses.field(default_factory=dict)
    disabled: set[str] = dataclasses.field(default_factory=set)


def resolve_enabled_plugins(plugins: fields.StrictFields | None, version: str) -> PluginPoints:
    """Return what is enabled in a profile of a version.

    Raises:
        InputError: a field has the wrong type.
    """
    found = PluginPoints()
    sets = _read_plugin_sets(plugins, found) if plugins is not None else {}
    multi = _merge_default_plugins(sets.get(MULTI, _PluginSet()), version)
    for point in _POINTS:
        own = sets.get(point, _PluginSet())
        enabled = {
            name: weight
            for name, weight in multi.items()
            if ALL not in own.disabled
            and name not in own.disabled
            and point in plugin_facts.get_extension_points(name, version)
        }
        found.weights[point] = enabled | own.enabled
    return found


def _merge_default_plugins(own: _PluginSet, version: str) -> dict[str, int]:
    """Return the default plugins with what `multiPoint` says about them."""
    defaults = {} if ALL in own.disabled else plugin_facts.get_default_plugins(version)
    kept = {name: weight for name, weight in defaults.items() if name not in own.disabled}
    return kept | own.enabled


def _read_plugin_sets(plugins: fields.StrictFields, found: PluginPoints) -> dict[str, _PluginSet]:
    sets = {}
    for point in (MULTI, *_POINTS):
        given = plugins.read_object(point)
        if given is None:
            continue
        sets[point] = each = _PluginSet()
        for entry in given.read_objects("disabled"):
            name = entry.read_text("name")
            entry.skip_fields("weight")  # of no meaning here, and generated files have it
            each.disabled.add(name)
            found.places[name] = entry.place
        for entry in given.read_objects("enabled"):
            name = entry.read_text("name")
            each.enabled[name] = entry.read_integer("weight") or 1
            found.places[name] = entry.place
            if name not in plugin_facts.POINTS and not plugin_facts.get_extension_points(
                name, "v1beta1"
            ):
                found.out_of_tree.setdefault(name, entry.place)
    for point in _GROUP_POINTS:
        group = plugins.read_object(point)
        if group is not None:
            group.report_unread_fields(
                "is for groups of pods, which stay Pending here", "give them to others"
            )
    return sets
