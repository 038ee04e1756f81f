"""Count host ports in use, with one column for each (address, protocol, port)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from policysched.cluster import count_column
from policysched.cluster.pods import pod_shape

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's value for any address; nothing is bound here


class PortColumns:
    """The number of pods on each node that claim each host port.

    Attributes:
        supposed_free: (address, protocol, port) → rows on which a what-if treats this port as free
            despite claims; see `suppose_port_claims`.
    """

    def __init__(self) -> None:
        """Start without claimed ports."""
        self.supposed_free: dict[tuple[str, str, int], set[int]] = {}
        self._columns: dict[tuple[str, int], dict[str, count_column.CountColumn]] = {}

    def __len__(self) -> int:
        """Return the number of distinct (protocol, port) pairs that pods claim."""
        return len(self._columns)

    def change_port_claims(
        self, row: int, ports: Iterable[pod_shape.HostPort], change: int
    ) -> None:
        """Add (`change` 1) or remove (-1) claims of `ports` on one node."""
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
        """Change claims in a what-if, with kube-scheduler's treatment of shared ports.

        If two pods on a node claim the same port and a what-if removes one of them, kube-scheduler
        treats the port as free until the what-if adds a pod with this port (`framework/types.go`,
        HostPortInfo is a set).
        """
        self.change_port_claims(row, ports, change)
        for port in ports:
            free = self.supposed_free.setdefault((port.ip, port.protocol, port.port), set())
            (free.discard if change > 0 else free.add)(row)

    def find_nodes_with_port_conflicts(
        self, ports: Iterable[pod_shape.HostPort], size: int
    ) -> npt.NDArray[np.bool_]:
        """Return bool (N,): the nodes on which one of `ports` is already claimed.

        Source: framework/types.go, HostPortInfo.CheckConflict. Ports conflict if protocol and port
        are equal, and the addresses are equal or one of them is `0.0.0.0`.
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
