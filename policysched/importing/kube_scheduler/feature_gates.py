"""Imports feature gates of kube-scheduler: as switches, or as findings if there is no counterpart.

Source: `pkg/features/kube_features.go` of Kubernetes 1.18 to 1.36.
"""

from __future__ import annotations

import msgspec

from policysched import booleans, errors
from policysched.config import config
from policysched.importing.result import findings, import_draft

_SWITCHES: dict[str, bool] = msgspec.to_builtins(config.FeatureGates())
"""Gates that policysched also has, with their defaults."""

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
        *("PodDisruptionBudget", "CSIMigration", "ReadWriteOncePod"),
        *("LocalStorageCapacityIsolation", "CSIStorageCapacity", "SidecarContainers"),
        *("TaintTolerationComparisonOperators", "AttachVolumeLimit", "VolumeScheduling"),
        *("InPlacePodVerticalScaling", "PodLevelResources", "SchedulerAsyncPreemption"),
    }
)
_NO_MATTER = frozenset({"SchedulerAsyncAPICalls"})
"""Gates that affect speed, but not placement."""

_ADVICE = "make sure that no pod depends on it"


def import_feature_gates(
    text: str, at: findings.ValueLocation, made: import_draft.ImportDraft
) -> None:
    """Set switches, and report other gates whose value differs from the behaviour of policysched.

    Raises:
        InputError: a gate is neither on nor off.
    """
    report, switches = made.report, {}
    for entry in text.split(","):
        name, _, value = (part.strip() for part in entry.strip().strip('"').partition("="))
        if not name and not value:
            continue
        is_on = booleans.parse_boolean(value)
        if is_on is None:
            problem = f"the feature gate `{name}={value}` is neither `true` nor `false`"
            raise errors.InputError(f"{at.where}:{at.line}", problem, help=booleans.HELP)
        if name in _SWITCHES:
            switches[name] = (at, is_on)
        elif name in _ALWAYS_ON and is_on:
            continue
        elif name in _NO_MATTER:
            report.note(at, f"the feature gate {name}={value} has no counterpart", "it is left out")
        elif name in _ALWAYS_ON:
            report.warn(at, f"the feature {name} cannot be switched off", _ADVICE)
        else:
            report.warn(at, f"the feature gate {name}={value} has no counterpart", _ADVICE)
    made.set_config_group(
        "features", {name: each for name, each in switches.items() if each[1] != _SWITCHES[name]}
    )
