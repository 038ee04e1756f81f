"""Map the plugins of a profile to the Kubernetes resources that they read.

A resource that no plugin reads need not be listed, because no decision depends on it. A resource
that a plugin reads must be listed: an empty collection is not the same as an unknown one. An empty
collection means that a claim does not exist, that no volume is attached, or that no budget
restricts an eviction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from policysched.framework import profile
from policysched.kube.reading import watch_sync
from policysched.plugins import defaults, names

_ALWAYS = frozenset({"nodes", "pods", "namespaces"})
_OWNERS = frozenset({"services", "replicationcontrollers", "replicasets", "statefulsets"})
_DEVICES = frozenset({"resourceclaims", "resourceslices", "deviceclasses"})
_CLAIMED = frozenset({"persistentvolumeclaims", "persistentvolumes", "storageclasses"})
BY_PLUGIN: Mapping[str, frozenset[str]] = {
    names.POD_TOPOLOGY_SPREAD: _OWNERS,
    names.VOLUME_RESTRICTIONS: frozenset({"persistentvolumeclaims"}),
    names.VOLUME_ZONE: _CLAIMED,
    names.NODE_VOLUME_LIMITS: _CLAIMED | {"csinodes", "volumeattachments"},
    names.VOLUME_BINDING: _CLAIMED | {"csinodes", "csidrivers", "csistoragecapacities"},
    names.DYNAMIC_RESOURCES: _DEVICES,
    names.DEFAULT_PREEMPTION: frozenset({"poddisruptionbudgets"}),
}
"""Resources that each built-in plugin reads besides nodes, pods and namespaces.

Plugins without an entry read no others, but policies read claims and devices if they name them.
Resources have their plural names, as in RBAC rules.
"""

_OF_OTHERS = frozenset().union(*BY_PLUGIN.values())
_BUILT_IN = frozenset({plugin.name for plugin in defaults.DEFAULT_PLUGINS}) | {names.POLICY}


def find_plugins_by_resource(profiles: Collection[profile.Profile]) -> dict[str, list[str]]:
    """Return the plugins that read each resource, keyed by resource name; omit unread resources.

    Third-party plugins count as readers of every resource.
    """
    found = {resource: [watch_sync.EVERYBODY] for resource in _ALWAYS}
    plugins = {plugin.name for each in profiles for plugin in each.plugins}
    for name in sorted(plugins):
        for resource in _list_resources_read_by(name):
            found.setdefault(resource, []).append(name)
    read = [each.projection for each in profiles if each.projection is not None]
    of_policies = [
        *(("persistentvolumeclaims",) if any(each.reads_claims for each in read) else ()),
        *(_DEVICES if any(each.reads_devices for each in read) else ()),
    ]
    for resource in of_policies:
        found.setdefault(resource, []).append(names.POLICY)
    return found


def _list_resources_read_by(plugin: str) -> frozenset[str]:
    return BY_PLUGIN.get(plugin, frozenset() if plugin in _BUILT_IN else _OF_OTHERS)
