"""Pods that arrive at an even rate, whether or not earlier pods have been placed."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import workload_files
from tests.realcluster import api_client

_WORKERS = 32
_PODS = f"/api/v1/namespaces/{workload_files.NAMESPACE}/pods"


@dataclasses.dataclass
class Arrived:
    """Times of arriving pods, by name, in seconds since the epoch.

    Attributes:
        due: when a pod was due; the delay of a late benchmark is part of the pod's wait.
        sent: when it was sent.
    """

    due: dict[str, float] = dataclasses.field(default_factory=dict)
    sent: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def per_second(self) -> float:
        """The rate at which pods were sent; 0 without pods."""
        seconds = max(self.sent.values()) - min(self.sent.values()) if self.sent else 0.0
        return (len(self.sent) - 1) / seconds if seconds else 0.0

    @property
    def late_p99_ms(self) -> float:
        """99th percentile of the delay between due and sent; 0 without pods."""
        late = sorted(1000 * (at - self.due[name]) for name, at in self.sent.items())
        return late[int(0.99 * (len(late) - 1))] if late else 0.0


def send(
    client: api_client.ApiClient, pods: Sequence[Mapping[str, Any]], per_second: float
) -> Arrived:
    """Create pods at an even rate, and return when each was due and sent.

    Raises:
        api_client.ApiError: the API server has refused a pod.
    """
    arrived = Arrived()

    def create(pod: Mapping[str, Any]) -> None:
        arrived.sent[pod["metadata"]["name"]] = time.time()
        client.raw("POST", _PODS, pod)

    started, began = time.monotonic(), time.time()
    with concurrent.futures.ThreadPoolExecutor(_WORKERS) as pool:
        futures = []
        for number, pod in enumerate(pods):
            after = number / per_second
            arrived.due[pod["metadata"]["name"]] = began + after
            time.sleep(max(0.0, started + after - time.monotonic()))
            futures.append(pool.submit(create, pod))
    for future in futures:
        future.result()
    return arrived
