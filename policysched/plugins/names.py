"""Names of the built-in plugins (`plugins/names/names.go`), as reasons and profiles spell them."""

from __future__ import annotations

DEFAULT_BINDER = "DefaultBinder"
IMAGE_LOCALITY = "ImageLocality"
INTER_POD_AFFINITY = "InterPodAffinity"
NODE_AFFINITY = "NodeAffinity"
NODE_NAME = "NodeName"
NODE_PORTS = "NodePorts"
NODE_RESOURCES_BALANCED_ALLOCATION = "NodeResourcesBalancedAllocation"
NODE_RESOURCES_FIT = "NodeResourcesFit"
NODE_UNSCHEDULABLE = "NodeUnschedulable"
POD_TOPOLOGY_SPREAD = "PodTopologySpread"
PRIORITY_SORT = "PrioritySort"
SCHEDULING_GATES = "SchedulingGates"
TAINT_TOLERATION = "TaintToleration"
UNSUPPORTED_POD_FEATURES = "UnsupportedPodFeatures"
"""Not a plugin of kube-scheduler, see its file."""
