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

    def place(self, name: str, default: findings.ValueLocation) -> findings.ValueLocation:
        """Return where the source says something about a plugin."""
        return self.places.get(name) or self.places.get(ALL) or default

    def comment(self, name: str) -> str:
        """Return the same for a comment, "" where nothing is said."""
        place = self.places.get(name) or self.places.get(ALL)
        return place.comment if place else ""


@dataclasses.dataclass(slots=True)
class _Set:
    """`enabled` and `disabled` of one point."""

    enabled: dict[str, int] = dataclasses.field(default_factory=dict)
    disabled: set[str] = dataclasses.field(default_factory=set)


def resolve(plugins: fields.StrictFields | None, version: str) -> PluginPoints:
    """Return what is enabled in a profile of a version.

    Raises:
        InputError: a field has the wrong type.
    """
    found = PluginPoints()
    sets = _read(plugins, found) if plugins is not None else {}
    multi = _merged(sets.get(MULTI, _Set()), version)
    for point in _POINTS:
        own = sets.get(point, _Set())
        enabled = {
            name: weight
            for name, weight in multi.items()
            if ALL not in own.disabled
            and name not in own.disabled
            and point in plugin_facts.points(name, version)
        }
        found.weights[point] = enabled | own.enabled
    return found


def _merged(own: _Set, version: str) -> dict[str, int]:
    """Return the default plugins with what `multiPoint` says about them."""
    defaults = {} if ALL in own.disabled else plugin_facts.default_plugins(version)
    kept = {name: weight for name, weight in defaults.items() if name not in own.disabled}
    return kept | own.enabled


def _read(plugins: fields.StrictFields, found: PluginPoints) -> dict[str, _Set]:
    sets = {}
    for point in (MULTI, *_POINTS):
        given = plugins.object(point)
        if given is None:
            continue
        sets[point] = each = _Set()
        for entry in given.objects("disabled"):
            name = entry.text("name")
            entry.skip("weight")  # of no meaning here, and generated files have it
            each.disabled.add(name)
            found.places[name] = entry.place
        for entry in given.objects("enabled"):
            name = entry.text("name")
            each.enabled[name] = entry.whole("weight") or 1
            found.places[name] = entry.place
            if name not in plugin_facts.POINTS and not plugin_facts.points(name, "v1beta1"):
                found.out_of_tree.setdefault(name, entry.place)
    for point in _GROUP_POINTS:
        group = plugins.object(point)
        if group is not None:
            group.finish("is for groups of pods, which stay Pending here", "give them to others")
    return sets
