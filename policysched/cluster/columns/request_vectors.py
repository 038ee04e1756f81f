"""What a pod of a shape changes in the columns of its node, made ready once."""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import interning
from policysched.cluster.pods import pod_requests


@dataclasses.dataclass(frozen=True, slots=True)
class RequestDelta:
    """What is added to a row.

    Attributes:
        requested: int64 (R,), milli-CPU, bytes or pieces.
        nonzero: int64 (2,), cpu and memory with defaults for containers without any.
    """

    requested: npt.NDArray[np.int64]
    nonzero: npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class RequestVector:
    """What pods of a shape change when they come, and when they leave.

    Attributes:
        added, removed: the one is the other, negated.
        absent: amounts of resources that no node has.
    """

    added: RequestDelta
    removed: RequestDelta
    absent: dict[str, int]

    @classmethod
    def from_requests(
        cls,
        requests: pod_requests.PodResourceRequests,
        resources: interning.Interner[str],
        width: int,
    ) -> Self:
        """Return `requests` by the numbers that `resources` have now, R = `width` in all."""
        numbers = {name: resources.find(name) for name in requests.amounts}
        requested = np.zeros(width, np.int64)
        for name, number in numbers.items():
            if number is not None:
                requested[number] = requests.amounts[name]
        least = (requests.nonzero_cpu_milli, requests.nonzero_memory_bytes)
        nonzero = np.array(least, np.int64)
        absent = {n: a for n, a in requests.amounts.items() if a and numbers[n] is None}
        return cls(RequestDelta(requested, nonzero), RequestDelta(-requested, -nonzero), absent)
