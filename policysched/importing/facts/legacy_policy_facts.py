"""Predicates and priorities of the Policy API, and the plugins that replaced them.

Source: `pkg/scheduler/framework/plugins/legacy_registry.go` and `pkg/scheduler/algorithmprovider`
of Kubernetes 1.8 to 1.22.
"""

from __future__ import annotations

GENERAL = ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity")
MANDATORY = ("NodeUnschedulable", "TaintToleration")
"""Filter plugins that every Policy enables."""

PREDICATES: dict[str, tuple[str, ...]] = {
    "GeneralPredicates": GENERAL,
    "PodFitsHostPorts": ("NodePorts",),
    "PodFitsPorts": ("NodePorts",),
    "PodFitsResources": ("NodeResourcesFit",),
    "PodFitsHost": ("NodeName",),
    "HostName": ("NodeName",),
    "MatchNodeSelector": ("NodeAffinity",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxCSIVolumeCount": ("NodeVolumeLimits",),
    "MaxEBSVolumeCount": ("NodeVolumeLimits",),
    "MaxGCEPDVolumeCount": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("NodeVolumeLimits",),
    "MaxCinderVolumeCount": ("NodeVolumeLimits",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeNodeConflict": ("VolumeBinding",),
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "PodToleratesNodeNoExecuteTaints": ("TaintToleration",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "CheckNodeCondition": ("TaintToleration",),
    "CheckNodeMemoryPressure": ("TaintToleration",),
    "CheckNodeDiskPressure": ("TaintToleration",),
    "CheckNodePIDPressure": ("TaintToleration",),
}
"""Predicate → its plugins; node conditions have been taints since Kubernetes 1.12."""

DEFAULT_PREDICATES = (
    *("NoVolumeZoneConflict", "MaxCSIVolumeCountPred", "MatchInterPodAffinity", "NoDiskConflict"),
    *("GeneralPredicates", "CheckVolumeBinding", "EvenPodsSpread"),
)
"""Predicates of a Policy without `predicates`, except the mandatory ones."""

PRIORITIES: dict[str, str] = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
}
STRATEGIES: dict[str, str] = {
    "LeastRequestedPriority": "LeastAllocated",
    "MostRequestedPriority": "MostAllocated",
    "RequestedToCapacityRatioPriority": "RequestedToCapacityRatio",
}
SELECTOR_SPREAD = ("SelectorSpreadPriority", "ServiceSpreadingPriority")
CONSTANT = "EqualPriority"
GONE_PRIORITIES: dict[str, str] = {
    "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
    "ResourceLimitsPriority": "NodeResourceLimits",
}
DEFAULT_PRIORITIES: dict[str, int] = {
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}
"""Priorities of a Policy without `priorities`, except NodePreferAvoidPodsPriority."""
