"""`karmada run` with feature gates, on a real API server."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.karmada import twins
from tests.realcluster import karmada

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import api_client
    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

COUNT = 30


def _order(client: api_client.ApiClient) -> list[int]:
    """Return the priorities of bindings in the order in which they were written last."""
    written = sorted(
        client.items(karmada.BINDINGS), key=lambda one: int(one["metadata"]["resourceVersion"])
    )
    return [
        one["spec"]["schedulePriority"]["priority"]
        for one in written
        if one.get("status", {}).get("conditions")
    ]


def test_bindings_of_higher_priority_are_placed_first(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Of a backlog that is written one by one; PriorityBasedScheduling."""
    client = karmada_plane.client
    karmada.create(client, twins.cluster("member1"))
    priorities = random.Random(7).sample(range(-100, 100), COUNT)
    for number, priority in enumerate(priorities):
        said = twins.binding(
            f"app{number}", {}, replicas=1, schedulePriority={"priority": priority}
        )
        karmada.create(client, twins.of(said, twins.OURS))
    flags = ["--feature-gates=AllBeta=true,PriorityBasedScheduling=true", "--writes-at-once=1"]
    with twins.ours(karmada_plane, tmp_path, flags) as scheduler:
        scheduler.wait_until(lambda: len(_order(client)) == COUNT)
    assert _order(client) == sorted(priorities, reverse=True)
