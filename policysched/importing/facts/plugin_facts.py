"""Names, extension points and default weights of kube-scheduler's plugins, by version.

Sources: `pkg/scheduler/apis/config/v1*/default_plugins.go` and `pkg/scheduler/algorithmprovider` of
Kubernetes 1.18 to 1.36, and the release notes of v1beta2 and v1beta3.
"""

from __future__ import annotations

from policysched.plugins import defaults, names

NEWEST = "v1"
VERSIONS = ("v1beta1", "v1beta2", "v1beta3", NEWEST)

POINTS: dict[str, frozenset[str]] = {
    names.SCHEDULING_GATES: frozenset({"preEnqueue"}),
    names.PRIORITY_SORT: frozenset({"queueSort"}),
    names.NODE_UNSCHEDULABLE: frozenset({"filter"}),
    names.NODE_NAME: frozenset({"filter"}),
    names.TAINT_TOLERATION: frozenset({"filter", "preScore", "score"}),
    names.NODE_AFFINITY: frozenset({"preFilter", "filter", "preScore", "score"}),
    names.NODE_PORTS: frozenset({"preFilter", "filter"}),
    names.NODE_RESOURCES_FIT: frozenset({"preFilter", "filter", "preScore", "score"}),
    names.VOLUME_RESTRICTIONS: frozenset({"preFilter", "filter"}),
    names.NODE_VOLUME_LIMITS: frozenset({"preFilter", "filter"}),
    names.VOLUME_BINDING: frozenset(
        {"preFilter", "filter", "reserve", "preBind", "preScore", "score"}
    ),
    names.VOLUME_ZONE: frozenset({"preFilter", "filter"}),
    names.POD_TOPOLOGY_SPREAD: frozenset({"preFilter", "filter", "preScore", "score"}),
    names.INTER_POD_AFFINITY: frozenset({"preFilter", "filter", "preScore", "score"}),
    names.DYNAMIC_RESOURCES: frozenset(
        {"preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"}
    ),
    names.DEFAULT_PREEMPTION: frozenset({"preEnqueue", "postFilter"}),
    names.NODE_RESOURCES_BALANCED_ALLOCATION: frozenset({"preScore", "score"}),
    names.IMAGE_LOCALITY: frozenset({"score"}),
    names.DEFAULT_BINDER: frozenset({"bind"}),
    names.NODE_DECLARED_FEATURES: frozenset({"preFilter", "filter"}),
}
"""Extension points at which a plugin can be enabled."""

_PREPARES = frozenset({"preEnqueue", "preFilter", "preScore"})

DECIDES: dict[str, frozenset[str]] = {
    **{name: points - _PREPARES for name, points in POINTS.items()},
    names.SCHEDULING_GATES: frozenset({"preEnqueue"}),
    names.VOLUME_BINDING: frozenset({"filter", "reserve", "preBind"}),
    names.DYNAMIC_RESOURCES: frozenset({"filter"}),
}
"""Extension points in `POINTS` at which a plugin decides.

Only these points determine whether the plugin is on; at most of the others, it only prepares
decisions.
"""

RESOURCE_STRATEGIES: dict[str, str] = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
"""Score plugin until v1beta1 → the strategy of NodeResourcesFit that replaced it."""

IN_TREE_LIMITS = ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")
"""Filter plugins for one volume type each; NodeVolumeLimits replaced them after CSI migration."""

GONE: dict[str, str] = {
    "NodeLabel": "write `nodeAffinity` or `score node(…)` rules",
    "NodePreferAvoidPods": "taint such nodes with the effect PreferNoSchedule",
    "SelectorSpread": "PodTopologySpread's default constraints do its work",
    "ServiceAffinity": "write `podAffinity … topologyKey LABEL` for the pods of each service",
    "ServiceAntiAffinity": "write `topologySpread … topologyKey LABEL` for the pods of a service",
    "NodeResourceLimits": "score by `limits(cpu)` and `limits(memory)` in a policy",
    **dict.fromkeys(IN_TREE_LIMITS, "NodeVolumeLimits counts these volumes"),
}
"""Plugin that Kubernetes has removed → advice on a replacement."""

_OLD_WEIGHTS = {names.TAINT_TOLERATION: 1, names.NODE_AFFINITY: 1, names.INTER_POD_AFFINITY: 1}
_SCORES = (
    names.TAINT_TOLERATION,
    names.NODE_AFFINITY,
    names.NODE_RESOURCES_FIT,
    names.POD_TOPOLOGY_SPREAD,
    names.INTER_POD_AFFINITY,
    names.NODE_RESOURCES_BALANCED_ALLOCATION,
    names.IMAGE_LOCALITY,
)


def get_default_score_weights(version: str) -> dict[str, int]:
    """Return the default weights of score plugins in a version; v1beta3 raised three of them."""
    newest = {name: defaults.DEFAULT_WEIGHTS[name] for name in _SCORES}
    return newest | _OLD_WEIGHTS if version in ("v1beta1", "v1beta2") else newest


def get_default_plugin_weights(version: str) -> dict[str, int]:
    """Return the weights of the plugins that a version enables by default, keyed by plugin name."""
    found = dict.fromkeys(POINTS, 1) | get_default_score_weights(version)
    if version == "v1beta1":
        found |= {"NodeResourcesLeastAllocated": 1, "NodePreferAvoidPods": 10000}
        found |= dict.fromkeys(IN_TREE_LIMITS[:3], 1)
    return found


def get_extension_points(name: str, version: str) -> frozenset[str]:
    """Return the extension points of a plugin in a version; empty for an unknown plugin."""
    if name == names.NODE_RESOURCES_FIT and version == "v1beta1":
        return frozenset({"preFilter", "filter"})
    if name in POINTS:
        return POINTS[name]
    if name in RESOURCE_STRATEGIES or name in ("NodePreferAvoidPods", "NodeResourceLimits"):
        return frozenset({"preScore", "score"})
    if name in IN_TREE_LIMITS:
        return frozenset({"filter"})
    if name in ("SelectorSpread", "ServiceAntiAffinity"):
        return frozenset({"preScore", "score"})
    return frozenset({"filter", "preFilter", "score"}) if name in GONE else frozenset()


def is_scoring_plugin(name: str) -> bool:
    """Return whether the points of a built-in plugin can differ between nodes."""
    return name in _SCORES
