"""Host ports in use, as one count column for each (address, protocol, port) that is claimed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from policysched.cluster import count_column
from policysched.cluster.pods import pod_shape

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's word for any address, nothing is bound here


class PortColumns:
    """How many pods of each node claim a host port.

    Attributes:
        supposed_free: rows on which an (address, protocol, port) is taken to be free, whoever
            claims it; see `suppose`.
    """

    def __init__(self) -> None:
        """Start with no port claimed."""
        self.supposed_free: dict[tuple[str, str, int], set[int]] = {}
        self._columns: dict[tuple[str, int], dict[str, count_column.CountColumn]] = {}

    def __len__(self) -> int:
        """Return how many ports are claimed anywhere."""
        return len(self._columns)

    def change_port_claims(
        self, row: int, ports: Iterable[pod_shape.HostPort], change: int
    ) -> None:
        """Add `change` (1 or -1) claims of `ports` on one node."""
        for port in ports:
            by_address = self._columns.setdefault((port.protocol, port.port), {})
            column = by_address.setdefault(port.ip, count_column.CountColumn())
            column.add(row, change)
            if column.total == 0:
                del by_address[port.ip]
            if not by_address:
                del self._columns[port.protocol, port.port]

    def suppose_port_claims(
        self, row: int, ports: Iterable[pod_shape.HostPort], change: int
    ) -> None:
        """Count for a what-if question.

        Of two pods with the same port on a node, kube-scheduler takes the port to be free as soon
        as one is supposed to leave, until one is supposed to come (`framework/types.go`,
        HostPortInfo is a set).
        """
        self.change_port_claims(row, ports, change)
        for port in ports:
            free = self.supposed_free.setdefault((port.ip, port.protocol, port.port), set())
            (free.discard if change > 0 else free.add)(row)

    def find_port_conflicts(
        self, ports: Iterable[pod_shape.HostPort], size: int
    ) -> npt.NDArray[np.bool_]:
        """Return bool (N,): the nodes on which one of `ports` is taken.

        Source: framework/types.go, HostPortInfo.CheckConflict: equal protocol and port, and equal
        addresses or one of them `0.0.0.0`.
        """
        taken = np.zeros(size, np.bool_)
        for port in ports:
            for address, column in self._columns.get((port.protocol, port.port), {}).items():
                if ANY_ADDRESS in (address, port.ip) or address == port.ip:
                    claimed = column.get_counts(size) > 0
                    free = self.supposed_free.get((address, port.protocol, port.port))
                    if free:
                        claimed[list(free)] = False
                    taken |= claimed
        return taken
