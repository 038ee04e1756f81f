"""Compute how one pod of a shape changes the columns of its node, once for each shape."""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import interning
from policysched.cluster.pods import pod_requests


@dataclasses.dataclass(frozen=True, slots=True)
class RequestDelta:
    """The amounts to add to a row.

    Attributes:
        requested: int64 (R,), milli-CPU, bytes or a count.
        nonzero: int64 (2,), milli-CPU and bytes, with defaults for containers without requests.
    """

    requested: npt.NDArray[np.int64]
    nonzero: npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class RequestVector:
    """The changes to a row when a pod of a shape is added or removed.

    Attributes:
        added, removed: the two changes; each is the negation of the other.
        absent: requested amounts of resources that no node has.
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
        """Convert `requests` to a vector, with the current column indices of `resources`.

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
