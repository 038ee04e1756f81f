"""Choose the pods about which the new version decides in a stage."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from policysched.cluster.objects import objects
from policysched.cluster.pods import workloads
from policysched.rollout import settings

_WORKLOADS_KEPT = 10_000


class PodChoice:
    """The pods of the stages so far; a stage keeps the pods of the stages before it."""

    def __init__(self, stages: Sequence[settings.Stage], version_hash: str) -> None:
        """Choose the pods of `stages` for the version `version_hash`."""
        self._stages = [stage for stage in stages if not stage.shadow]
        self._salt = version_hash
        self._percents: dict[str, float] = {}

    def __call__(self, pod: objects.Pod) -> bool:
        """Return whether the new version decides about a pod."""
        return any(self._is_in_stage(stage, pod) for stage in self._stages)

    def _is_in_stage(self, stage: settings.Stage, pod: objects.Pod) -> bool:
        meta = pod.metadata
        if stage.namespaces and meta.namespace not in stage.namespaces:
            return False
        if any(meta.labels.get(key) != value for key, value in stage.match_labels.items()):
            return False
        return stage.percent is None or self._find_percent(pod) < stage.percent

    def _find_percent(self, pod: objects.Pod) -> float:
        workload = workloads.format_workload(pod.metadata)
        percent = self._percents.get(workload)
        if percent is None:
            percent = compute_workload_percent(workload, self._salt)
            if len(self._percents) >= _WORKLOADS_KEPT:
                self._percents.clear()
            self._percents[workload] = percent
        return percent


def compute_workload_percent(workload: str, salt: str) -> float:
    """Return the place of a workload among all, from 0 to below 100.

    It depends on nothing but its arguments, so every process chooses the same pods. With another
    `salt`, other workloads come first.
    """
    digest = hashlib.blake2b(f"{salt}\n{workload}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) * 100 / 2**64
