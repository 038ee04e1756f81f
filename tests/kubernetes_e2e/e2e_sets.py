"""The parts of Kubernetes' e2e suite that a scheduler can fail."""

from __future__ import annotations

import dataclasses
from typing import Final

_OFF = "OffByDefault"  # tests of alpha APIs and of gates that are off


@dataclasses.dataclass(frozen=True)
class E2eSet:
    """Some of the tests of e2e.test.

    Attributes:
        name: what `--sets` and the table call it.
        focus: regular expression (Go) of the names of its tests.
        skip: regular expression (Go) of the names that are left out; "" for none.
        least_passed: how many tests kube-scheduler passes whatever happens; fewer say that the
            cluster is broken.
        processes: how many processes share the tests; those marked [Serial] run alone in any case.
        feature_gates: gates of the control plane and kube-scheduler that are switched on.
        api_versions: API versions that are served besides those that are by default.
        missing: the feature that policysched does not have yet; "" for none. Such a set runs
            only when it is named.
    """

    name: str
    focus: str
    skip: str = _OFF
    least_passed: int = 1
    processes: int = 1
    feature_gates: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    missing: str = ""


SETS: Final = (
    E2eSet(
        "scheduling",
        r"\[sig-scheduling\]",
        # The test with 0.0.0.0 waits five minutes for a pod that must stay pending.
        skip=f"{_OFF}|but one using 0.0.0.0 hostIP",
        least_passed=25,
    ),
    E2eSet("daemonsets", r"\[sig-apps\] Daemon set", least_passed=9),
    E2eSet("taints", "NoExecuteTaintManager", least_passed=6),
    E2eSet(
        "runtimeclasses",
        "RuntimeClass",
        skip=f"{_OFF}|RuntimeHandler",  # two tests of what runs the containers, five minutes each
        least_passed=7,
        processes=2,
    ),
    E2eSet(
        "volumes",
        r"PersistentVolumes-local "
        r"(Pod with node different|StatefulSet with pod affinity|Stress)",
        least_passed=6,
        processes=2,
    ),
    E2eSet(
        "apps",
        r"\[sig-apps\] "
        r"(StatefulSet|Deployment|ReplicaSet|ReplicationController|DisruptionController)",
        skip=rf"{_OFF}|\[Slow\]|\[Serial\]",
        least_passed=52,
        processes=4,
    ),
    E2eSet("resize", "scheduler-focused", least_passed=1),
    E2eSet(
        "devices",
        r"DRA\] control plane",
        least_passed=20,
        processes=4,
    ),
    E2eSet(
        "groups",
        "Workload API availability|PodGroup API availability|should create Workload and PodGroup",
        skip="DRA",
        least_passed=3,
        feature_gates=("GenericWorkload", "WorkloadWithJob", "GangScheduling"),
        api_versions=("scheduling.k8s.io/v1alpha2",),
        missing="scheduling groups",
    ),
)
