"""Pods that arrive one by one at an even rate, whether or not those before have been placed."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import workload_files
from tests.realcluster import api_client

_WORKERS = 32
_PODS = f"/api/v1/namespaces/{workload_files.NAMESPACE}/pods"


def send(
    client: api_client.ApiClient, pods: Sequence[Mapping[str, Any]], per_second: float
) -> dict[str, float]:
    """Create pods and return when each was sent, in seconds since the epoch, by name.

    Raises:
        api_client.ApiError: the API server has refused one.
    """
    sent: dict[str, float] = {}

    def create(pod: Mapping[str, Any]) -> None:
        sent[pod["metadata"]["name"]] = time.time()
        client.raw("POST", _PODS, pod)

    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(_WORKERS) as pool:
        made = []
        for number, pod in enumerate(pods):
            time.sleep(max(0.0, started + number / per_second - time.monotonic()))
            made.append(pool.submit(create, pod))
    for one in made:
        one.result()
    return sent
