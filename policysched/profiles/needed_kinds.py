"""Which kinds of objects the plugins of a profile read.

A kind that nobody reads need not be listed: nothing is decided by it. One that somebody reads must
be, for an empty collection says something else than one that is not known: that a claim does not
exist, that nothing is attached, that a budget lets everybody be evicted.
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
"""What built-in plugins read besides nodes, pods and namespaces; those that are missing, nothing.

The resources are named as in an RBAC rule.
"""

_OF_OTHERS = frozenset().union(*BY_PLUGIN.values())
_BUILT_IN = frozenset({plugin.name for plugin in defaults.DEFAULT_PLUGINS}) | {base.PLUGIN_NAME}


def find_plugins_by_resource(profiles: Iterable[profile.Profile]) -> dict[str, list[str]]:
    """Return the plugins that read each resource, by its name; resources that nobody reads are out.

    Plugins of other packages may read everything that they are handed.
    """
    found = {resource: [watch_sync.EVERYBODY] for resource in _ALWAYS}
    plugins = {plugin.name for each in profiles for plugin in each.plugins}
    for name in sorted(plugins):
        for resource in _list_resources_read_by(name):
            found.setdefault(resource, []).append(name)
    return found


def _list_resources_read_by(plugin: str) -> frozenset[str]:
    return BY_PLUGIN.get(plugin, frozenset() if plugin in _BUILT_IN else _OF_OTHERS)
