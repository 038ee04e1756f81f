"""Feature gates of kube-scheduler: what policysched always does, and what it never does.

Source: `pkg/features/kube_features.go` of Kubernetes 1.18 to 1.36.
"""

from __future__ import annotations

from policysched.importing import findings

_ALWAYS_ON = frozenset(
    {
        *("EvenPodsSpread", "DefaultPodTopologySpread", "MinDomainsInPodTopologySpread"),
        *("NodeInclusionPolicyInPodTopologySpread", "MatchLabelKeysInPodTopologySpread"),
        *("MatchLabelKeysInPodAffinity", "PodAffinityNamespaceSelector", "PodOverhead"),
        *(
            "NonPreemptingPriority",
            "PodPriority",
            "PodSchedulingReadiness",
            "TaintNodesByCondition",
        ),
        *("PodDisruptionBudget", "CSIMigration", "ReadWriteOncePod", "SchedulerQueueingHints"),
        *("LocalStorageCapacityIsolation", "CSIStorageCapacity", "SidecarContainers"),
        *("TaintTolerationComparisonOperators", "AttachVolumeLimit", "VolumeScheduling"),
        *("InPlacePodVerticalScaling", "PodLevelResources", "SchedulerAsyncPreemption"),
    }
)
_NO_MATTER = frozenset(
    {"OpportunisticBatching", "SchedulerAsyncAPICalls", "SchedulerPopFromBackoffQ"}
)
"""How fast, not where."""

_ADVICE = "make sure that no pod depends on it"


def read(text: str, at: findings.Place, report: findings.Report) -> None:
    """Report each gate that is set to something else than what policysched does."""
    for entry in text.split(","):
        name, _, value = entry.strip().strip('"').partition("=")
        is_on = value.strip().lower() in ("true", "1", "t")
        if not name or (name in _ALWAYS_ON and is_on):
            continue
        if name in _NO_MATTER:
            report.note(at, f"the feature gate {name}={value} has no counterpart", "it is left out")
        elif name in _ALWAYS_ON:
            report.warn(at, f"the feature {name} cannot be switched off", _ADVICE)
        else:
            report.warn(at, f"the feature gate {name}={value} has no counterpart", _ADVICE)
