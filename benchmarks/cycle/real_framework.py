"""kube-scheduler's own algorithm on the pods and nodes of a benchmark, without an API server.

The program is `tests/conformance/oracle/timing`: kube-scheduler's Scheduler, queue, cache and
framework without changes, with all defaults.
"""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tests.realcluster import components

SAMPLING, ALL_NODES = 0, 100
"""`percentageOfNodesToScore`: kube-scheduler's default, and all nodes, as in policysched."""
_NAME = "default-scheduler"
_LIMIT_SECONDS = 3600.0


@dataclasses.dataclass(frozen=True)
class Timed:
    """The result of placing a backlog.

    Attributes:
        placed: pods that found a node; the others fit nowhere.
        seconds: wall time.
        cpu_seconds: CPU time of all threads, including garbage collection.
    """

    placed: int
    seconds: float
    cpu_seconds: float


def place(
    nodes: Sequence[Mapping[str, Any]],
    pods: Sequence[Mapping[str, Any]],
    percentage_of_nodes_to_score: int,
) -> Timed:
    """Place all pods without a node, in a separate process.

    Raises:
        components.ComponentError: the program cannot be built.
        subprocess.CalledProcessError: the program failed.
    """
    request = {
        "nodes": nodes,
        "pods": [{**pod, "spec": {**pod["spec"], "schedulerName": _NAME}} for pod in pods],
        "percentageOfNodesToScore": percentage_of_nodes_to_score,
    }
    answer = subprocess.run(
        [components.binary("timing")],
        input=orjson.dumps(request),
        stdout=subprocess.PIPE,
        check=True,
        timeout=_LIMIT_SECONDS,
    )
    result = orjson.loads(answer.stdout)
    return Timed(result["placed"], result["seconds"], result["cpuSeconds"])
