"""Decide whether a request tolerates the taints of a device.

Source: `k8s.io/dynamic-resource-allocation/resourceclaim`, ToleratesTaint.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policysched.cluster.objects import device_objects

_REPELLING_EFFECTS: Final = ("NoSchedule", "NoExecute")


def tolerates_taints(
    taints: Iterable[device_objects.DeviceTaint],
    tolerations: Iterable[device_objects.DeviceToleration],
) -> bool:
    """Return whether each taint that repels requests has a matching toleration."""
    return all(
        any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in taints
        if taint.effect in _REPELLING_EFFECTS
    )


def _tolerates(
    toleration: device_objects.DeviceToleration, taint: device_objects.DeviceTaint
) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
