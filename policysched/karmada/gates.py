"""Parse Karmada's `--feature-gates`, and read the gates that change decisions.

Sources: Karmada v1.18.2 `pkg/features/features.go`; `k8s.io/component-base/featuregate` for the
syntax and the meaning of AllAlpha and AllBeta.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from policysched import booleans, errors, spelling

OPTION: Final = "--feature-gates"

_ALL_ALPHA, _ALL_BETA = "AllAlpha", "AllBeta"
_ALPHA: Final = (
    "FederatedQuotaEnforcement",
    "LoggingAlphaOptions",
    "MultiClusterService",
    "MultiplePodTemplatesScheduling",
    "PriorityBasedScheduling",
    "PropagationPolicyPreemption",
    "ResourceQuotaEstimate",
    "SchedulingOvercommitProtection",
    "StatefulFailoverInjection",
    "WorkloadAffinity",
)
"""Alpha gates, which are off by default."""
_BETA: Final = {
    "ContextualLogging": True,
    "ControllerPriorityQueue": True,
    "CustomizedClusterResourceModeling": True,
    "Failover": False,
    "GracefulEviction": True,
    "LoggingBetaOptions": True,
    "PropagateDeps": True,
}
_UNKNOWN_HERE: Final = ("SchedulingOvercommitProtection",)

KNOWN: Final = (
    "CustomizedClusterResourceModeling",
    "MultiplePodTemplatesScheduling",
    "PriorityBasedScheduling",
    "WorkloadAffinity",
)
"""Gates that change the scheduler; all other gates concern other Karmada programs."""


@dataclasses.dataclass(frozen=True, slots=True)
class KarmadaFeatureGates:
    """The states of the gates that change the scheduler.

    Attributes:
        resource_models: the gate CustomizedClusterResourceModeling.
        priorities: the gate PriorityBasedScheduling.
        workload_affinity: the gate WorkloadAffinity.
        component_sets: the gate MultiplePodTemplatesScheduling.
    """

    resource_models: bool = True
    priorities: bool = False
    workload_affinity: bool = False
    component_sets: bool = False


def parse_karmada_feature_gates(text: str) -> KarmadaFeatureGates:
    """Return the gates after applying `GATE=true,…` to their defaults.

    Raises:
        UsageError: a gate is unknown, has a value that is not boolean, or is on but not
            implemented.
    """
    said = _parse_gate_switches(text)
    known = dict.fromkeys(_ALPHA, said.get(_ALL_ALPHA, False)) | {
        name: said.get(_ALL_BETA, default) for name, default in _BETA.items()
    }
    on = known | said
    for name in _UNKNOWN_HERE:
        if on[name]:
            by = "" if name in said else f"{_ALL_ALPHA} turns on "
            raise errors.UsageError(
                f"{OPTION}: {by}`{name}`, which policysched does not implement; write "
                f"`{name}=false`"
            )
    return KarmadaFeatureGates(
        resource_models=on["CustomizedClusterResourceModeling"],
        priorities=on["PriorityBasedScheduling"],
        workload_affinity=on["WorkloadAffinity"],
        component_sets=on["MultiplePodTemplatesScheduling"],
    )


def _parse_gate_switches(text: str) -> dict[str, bool]:
    """Return the switches in `text`, keyed by the name of the gate."""
    said: dict[str, bool] = {}
    for word in filter(None, (each.strip() for each in text.split(","))):
        name, _, value = (part.strip() for part in word.partition("="))
        if name not in (*_ALPHA, *_BETA, _ALL_ALPHA, _ALL_BETA):
            known = spelling.join_alternatives(f"`{each}`" for each in KNOWN)
            raise errors.UsageError(
                f"{OPTION}: `{name}` is not a feature gate of Karmada; gates are {known}"
            )
        switch = booleans.parse_boolean(value)
        if switch is None:
            raise errors.UsageError(f"{OPTION}: write `{name}=true` or `{name}=false`")
        said[name] = switch
    return said
