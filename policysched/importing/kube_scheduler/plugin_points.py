"""Resolves `plugins` of a profile to the plugins of each extension point, as kube-scheduler does.

Sources: `mergePluginSet` of `apis/config/v1/default_plugins.go` and `expandMultiPointPlugins` of
`framework/runtime/framework.go`: entries of a point override `multiPoint`, `disabled` removes only
defaults, and `*` removes all of them.
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
"""Extension points at which plugins place the pods of a group together.

Generated configuration files contain these points as empty entries.
"""


@dataclasses.dataclass(slots=True)
class PluginPoints:
    """The plugins that a profile enables at each extension point.

    Attributes:
        weights: point → plugin → weight.
        places: plugin → the last location at which the source names it; `*` → the last location at
            which the source disables all.
        out_of_tree: plugins that kube-scheduler never had → the first location of each.
    """

    weights: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    places: dict[str, findings.ValueLocation] = dataclasses.field(default_factory=dict)
    out_of_tree: dict[str, findings.ValueLocation] = dataclasses.field(default_factory=dict)

    def find_extension_points(self, name: str) -> frozenset[str]:
        """Return the extension points at which a plugin is enabled."""
        return frozenset(point for point, plugins in self.weights.items() if name in plugins)

    def get_location(self, name: str, default: findings.ValueLocation) -> findings.ValueLocation:
        """Return the location in the source that configures a plugin, or `default`."""
        return self.places.get(name) or self.places.get(ALL) or default

    def get_origin_comment(self, name: str) -> str:
        """Return this location as a comment, or "" if the source does not configure the plugin."""
        place = self.places.get(name) or self.places.get(ALL)
        return place.origin_comment if place else ""


@dataclasses.dataclass(slots=True)
class _PluginSet:
    """`enabled` and `disabled` of one extension point."""

    enabled: dict[str, int] = dataclasses.field(default_factory=dict)
    disabled: set[str] = dataclasses.field(default_factory=set)


def resolve_enabled_plugins(plugins: fields.StrictFields | None, version: str) -> PluginPoints:
    """Return the enabled plugins of a profile, based on the defaults of `version`.

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
    """Return the default plugins as modified by `multiPoint`."""
    defaults = {} if ALL in own.disabled else plugin_facts.get_default_plugin_weights(version)
    kept = {name: weight for name, weight in defaults.items() if name not in own.disabled}
    return kept | own.enabled


def _read_plugin_sets(plugins: fields.StrictFields, found: PluginPoints) -> dict[str, _PluginSet]:
    """Return the set of each extension point; add locations and out-of-tree plugins to `found`."""
    sets = {}
    for point in (MULTI, *_POINTS):
        given = plugins.read_object(point)
        if given is None:
            continue
        sets[point] = each = _PluginSet()
        for entry in given.read_objects("disabled"):
            name = entry.read_text("name")
            entry.skip_fields("weight")  # has no effect, but generated files contain it
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
                "is for groups of pods, which stay Pending here", "leave them to another scheduler"
            )
    return sets
