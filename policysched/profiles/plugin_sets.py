"""Assemble the plugins of a profile: kube-scheduler's defaults, changed by policies and settings.

Changes apply in layers: first the profile in the policy text, then the configuration file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from policysched import spelling
from policysched.framework import handles, interface
from policysched.plugins import defaults, names, registry

EXTENSION_POINTS = {
    "pre_enqueue": "PreEnqueue",
    "sort_key": "QueueSort",
    "pre_filter": "PreFilter",
    "filter": "Filter",
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "score": "Score",
    "normalize_score": "NormalizeScore",
    "reserve": "Reserve",
    "permit": "Permit",
    "pre_bind": "PreBind",
    "bind": "Bind",
    "post_bind": "PostBind",
}
"""Method of a plugin → its extension point, in the order in which an attempt runs them."""


@dataclasses.dataclass(frozen=True, slots=True)
class PluginEntry:
    """A plugin to enable; None for the weight or the arguments keeps the current value."""

    name: str
    where: str
    weight: int | None = None
    args: Mapping[str, object] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PluginLayer:
    """Changes to the plugins of a profile from one source.

    Attributes:
        where: name of the source, for errors.
        settings: plugins to enable.
        disabled: plugins to disable.
        disabled_scores: plugins that keep filtering but no longer score.
        disable_all_scores: disable all built-in scores, except those to which `settings` gives a
            weight.
        builtin_weight: factor for the weights of all built-in scores.
        ignored_resources: extended resources that replace `ignoredResources` of NodeResourcesFit;
            without any, the argument does not change.
    """

    where: str
    settings: tuple[PluginEntry, ...] = ()
    disabled: tuple[str, ...] = ()
    disabled_scores: tuple[str, ...] = ()
    disable_all_scores: bool = False
    builtin_weight: int = 1
    ignored_resources: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class PluginSetFault:
    """The reason why a plugin set cannot be made."""

    where: str
    problem: str
    help: str = ""

    def __str__(self) -> str:
        """Return the fault on one line."""
        return f"{self.where}: {self.problem}" + (f" ({self.help})" if self.help else "")


@dataclasses.dataclass(slots=True)
class PluginSet:
    """The plugins of a profile in execution order, and the weights of their scores."""

    plugins: list[interface.Plugin] = dataclasses.field(default_factory=list)
    weights: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(slots=True)
class _EffectivePluginSettings:
    """Settings of one plugin after the layers so far."""

    where: str
    weight: int = 1
    args: Mapping[str, object] | None = None
    is_on: bool = True
    scores: bool = True


def assemble_plugin_set(
    layers: Sequence[PluginLayer], plugins: registry.PluginRegistry, handle: handles.Handle
) -> PluginSet | list[PluginSetFault]:
    """Return the plugins that the layers select, or a list of all faults."""
    faults = [fault for layer in layers for fault in _find_unknown_plugin_faults(layer, plugins)]
    choices = {
        p.name: _EffectivePluginSettings("default", p.weight) for p in defaults.DEFAULT_PLUGINS
    }
    for layer in layers:
        _apply_layer(layer, choices)
    found = PluginSet()
    for name, choice in choices.items():
        if not choice.is_on or any(name == fault_name for fault_name, _ in faults):
            continue
        made = plugins.create_plugin(name, choice.args, handle)
        if isinstance(made, registry.PluginCreationError):
            faults.append((name, PluginSetFault(choice.where, f"{name}: {made.problem}")))
            continue
        found.plugins.append(made)
        if choice.scores and hasattr(made, "score"):
            found.weights[name] = choice.weight
    problems = [fault for _, fault in faults]
    return problems or _find_required_plugin_faults(found, layers) or found


def _apply_layer(layer: PluginLayer, choices: dict[str, _EffectivePluginSettings]) -> None:
    """Apply the changes of one layer to `choices`, which maps plugin names to settings."""
    if layer.disable_all_scores:
        for name in defaults.DEFAULT_WEIGHTS:
            choices[name].scores = False
    for setting in layer.settings:
        choice = choices.setdefault(setting.name, _EffectivePluginSettings(setting.where))
        choice.is_on = True
        choice.where = setting.where
        if setting.weight is not None:
            choice.weight, choice.scores = setting.weight, True
        if setting.args is not None:
            choice.args = setting.args
    for name in layer.disabled:
        choices.setdefault(name, _EffectivePluginSettings(layer.where)).is_on = False
    for name in layer.disabled_scores:
        choices.setdefault(name, _EffectivePluginSettings(layer.where, is_on=False)).scores = False
    # This follows the settings, because the factor also applies to weights that they set.
    for name in defaults.DEFAULT_WEIGHTS:
        choices[name].weight *= layer.builtin_weight
    if layer.ignored_resources:
        fit = choices[names.NODE_RESOURCES_FIT]
        fit.args = {**(fit.args or {}), "ignoredResources": list(layer.ignored_resources)}


def _find_unknown_plugin_faults(
    layer: PluginLayer, plugins: registry.PluginRegistry
) -> Iterable[tuple[str, PluginSetFault]]:
    known = plugins.list_plugin_names()
    asked = [(setting.name, setting.where) for setting in layer.settings]
    asked += [(name, layer.where) for name in (*layer.disabled, *layer.disabled_scores)]
    for name, where in asked:
        if name not in known:
            advice = spelling.suggest_names(name, known) or f"there are {', '.join(known)}"
            yield name, PluginSetFault(where, f"there is no plugin `{name}`", advice)


def _find_required_plugin_faults(
    found: PluginSet, layers: Sequence[PluginLayer]
) -> list[PluginSetFault]:
    """Return faults of required extension points: one QueueSort, at least one Bind."""
    where = layers[-1].where if layers else "default"
    faults = []
    sorting = [plugin.name for plugin in found.plugins if hasattr(plugin, "sort_key")]
    if len(sorting) != 1:
        problem = f"{' and '.join(sorting)} both order the queue" if sorting else "no QueueSort"
        faults.append(
            PluginSetFault(
                where, f"{problem}: exactly one plugin must", "PrioritySort is the default"
            )
        )
    if not any(hasattr(plugin, "bind") for plugin in found.plugins):
        faults.append(PluginSetFault(where, "no plugin binds pods", "DefaultBinder is the default"))
    return faults


def list_extension_points(plugin: interface.Plugin) -> list[str]:
    """Return the names of the extension points that a plugin implements."""
    return [point for method, point in EXTENSION_POINTS.items() if hasattr(plugin, method)]
