"""Karmada's feature gates."""

from __future__ import annotations

import pytest

from policysched import errors
from policysched.karmada import gates


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", gates.KarmadaFeatureGates()),
        ("WorkloadAffinity=true", gates.KarmadaFeatureGates(workload_affinity=True)),
        (
            "WorkloadAffinity=1, PriorityBasedScheduling=T",
            gates.KarmadaFeatureGates(True, True, True),
        ),
        ("MultiplePodTemplatesScheduling=true", gates.KarmadaFeatureGates(component_sets=True)),
        (
            "AllAlpha=true,SchedulingOvercommitProtection=false",
            gates.KarmadaFeatureGates(priorities=True, workload_affinity=True, component_sets=True),
        ),
        (
            "CustomizedClusterResourceModeling=false",
            gates.KarmadaFeatureGates(resource_models=False),
        ),
        ("AllBeta=false", gates.KarmadaFeatureGates(resource_models=False)),
        (
            "AllBeta=true,CustomizedClusterResourceModeling=0",
            gates.KarmadaFeatureGates(resource_models=False),
        ),
        ("AllAlpha=false", gates.KarmadaFeatureGates()),
        (
            "Failover=true,GracefulEviction=false,ContextualLogging=true",
            gates.KarmadaFeatureGates(),
        ),
    ],
)
def test_gates_are_read_as_in_karmada(text: str, expected: gates.KarmadaFeatureGates) -> None:
    """AllAlpha and AllBeta are for those that are not named; gates of other programs are taken."""
    assert gates.parse_karmada_feature_gates(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Nonsense=true", "`Nonsense` is not a feature gate of Karmada"),
        ("SchedulingOvercommitProtection=true", "which policysched does not implement"),
        ("AllAlpha=true", "AllAlpha turns on `SchedulingOvercommitProtection`"),
        ("WorkloadAffinity", "write `WorkloadAffinity=true` or `WorkloadAffinity=false`"),
        ("WorkloadAffinity=yes", "write `WorkloadAffinity=true` or `WorkloadAffinity=false`"),
    ],
)
def test_what_is_no_gate_is_an_error(text: str, expected: str) -> None:
    """It says how to write it."""
    with pytest.raises(errors.UsageError, match=expected):
        gates.parse_karmada_feature_gates(text)
