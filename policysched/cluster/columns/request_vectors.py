"""The change of a node's columns by one pod of a shape, computed once for each shape."""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import interning
from policysched.cluster.pods import pod_requests


@dataclasses.dataclass(frozen=True, slots=True)
class RequestDelta:
    """The amounts that are added to a row.

    Attributes:
        requested: int64 (R,), milli-CPU, bytes or pieces.
        nonzero: int64 (2,), cpu and memory, with defaults for containers without requests.
    """

    requested: npt.NDArray[np.int64]
    nonzero: npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class RequestVector:
    """The changes of a row when a pod of a shape is added, and when it is removed.

    Attributes:
        added, removed: each is the negation of the other.
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
        """Return the vector of `requests`, with the current column indices of `resources`.

        `width` is the number of resource columns (R).
        """
        numbers = {name: resources.find(name) for name in requests.amounts}
        requested = np.zeros(width, np.int64)
        for name, number in numbers.items():
            if number is not None:
                requested[number] = requests.amounts[name]
        least = (requests.nonzero_cpu_milli, requests.nonzero_memory_bytes)
        nonzero = np.array(least, np.int64)
        absent = {n: a for n, a in requests.amounts.items() if a and numbers[n] is None}
        return cls(RequestDelta(requested, nonzero), RequestDelta(-requested, -nonzero), absent)
