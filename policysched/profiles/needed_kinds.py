"""The kinds of objects that the plugins of a profile read.

A kind that no plugin reads need not be listed: no decision depends on it. A kind that a plugin
reads must be listed, because an empty collection is not the same as an unknown one. An empty one
means that a claim does not exist, that no volume is attached, or that no budget restricts an
eviction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policysched.compiler.rules import base
from policysched.framework import profile
from policysched.kube.reading import watch_sync
from policysched.plugins import defaults, names

_ALWAYS = frozenset({"nodes", "pods", "namespaces"})
_OWNERS = frozenset({"services", "replicationcontrollers", "replicasets", "statefulsets"})
_CLAIMED = frozenset({"persistentvolumeclaims", "persistentvolumes", "storageclasses"})
BY_PLUGIN: Mapping[str, frozenset[str]] = {
    names.POD_TOPOLOGY_SPREAD: _OWNERS,
    names.VOLUME_RESTRICTIONS: frozenset({"persistentvolumeclaims"}),
    names.VOLUME_ZONE: _CLAIMED,
    names.NODE_VOLUME_LIMITS: _CLAIMED | {"csinodes", "volumeattachments"},
    names.VOLUME_BINDING: _CLAIMED | {"csinodes", "csidrivers", "csistoragecapacities"},
    names.DEFAULT_PREEMPTION: frozenset({"poddisruptionbudgets"}),
}
"""The resources that built-in plugins read besides nodes, pods and namespaces.

Plugins that are not in it read no others. The resources are named as in an RBAC rule.
"""

_OF_OTHERS = frozenset().union(*BY_PLUGIN.values())
_BUILT_IN = frozenset({plugin.name for plugin in defaults.DEFAULT_PLUGINS}) | {base.PLUGIN_NAME}


def find_plugins_by_resource(profiles: Iterable[profile.Profile]) -> dict[str, list[str]]:
    """Return the plugins that read each resource, by its name, without resources that are unread.

    A plugin of another package counts as a reader of every resource.
    """
    found = {resource: [watch_sync.EVERYBODY] for resource in _ALWAYS}
    plugins = {plugin.name for each in profiles for plugin in each.plugins}
    for name in sorted(plugins):
        for resource in _list_resources_read_by(name):
            found.setdefault(resource, []).append(name)
    return found


def _list_resources_read_by(plugin: str) -> frozenset[str]:
    return BY_PLUGIN.get(plugin, frozenset() if plugin in _BUILT_IN else _OF_OTHERS)
