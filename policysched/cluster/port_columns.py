"""Host ports in use, as one count column for each (address, protocol, port) that is claimed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from policysched.cluster import count_column, pod_shape

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's word for any address, nothing is bound here


class PortColumns:
    """How many pods of each node claim a host port."""

    def __init__(self) -> None:
        """Start with no port claimed."""
        self._columns: dict[tuple[str, int], dict[str, count_column.CountColumn]] = defaultdict(
            dict
        )

    def count(self, row: int, ports: Iterable[pod_shape.HostPort], change: int) -> None:
        """Add `change` (1 or -1) claims of `ports` on one node."""
        for port in ports:
            by_address = self._columns[port.protocol, port.port]
            column = by_address.setdefault(port.ip, count_column.CountColumn())
            column.add(row, change)
            if column.total == 0:
                del by_address[port.ip]

    def conflicts(self, ports: Iterable[pod_shape.HostPort], size: int) -> npt.NDArray[np.bool_]:
        """Return bool (N,): the nodes on which one of `ports` is taken.

        Source: framework/types.go, HostPortInfo.CheckConflict: equal protocol and port, and equal
        addresses or one of them `0.0.0.0`.
        """
        taken = np.zeros(size, np.bool_)
        for port in ports:
            for address, column in self._columns.get((port.protocol, port.port), {}).items():
                if ANY_ADDRESS in (address, port.ip) or address == port.ip:
                    taken |= column.by_row(size) > 0
        return taken
