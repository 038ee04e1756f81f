"""Nodes that have been there for a moment: samples from before them are not theirs."""

from __future__ import annotations

import datetime
from typing import Any

from policysched import clock as clocks
from tests.realcluster import control_plane as control_planes


def create(plane: control_planes.ControlPlane, *nodes: dict[str, Any]) -> None:
    """Create nodes and return when a sample that is one second old counts for them."""
    plane.client.create_nodes(list(nodes))
    names = {node["metadata"]["name"] for node in nodes}
    created_at = [
        datetime.datetime.fromisoformat(node["metadata"]["creationTimestamp"])
        for node in plane.client.nodes()
        if node["metadata"]["name"] in names
    ]
    aged_at = max(created_at) + datetime.timedelta(seconds=2)
    plane.api_server.wait_until(
        lambda: clocks.SystemClock().now() >= aged_at, time_limit_seconds=60.0
    )
