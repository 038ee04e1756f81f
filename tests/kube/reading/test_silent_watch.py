"""A watch that dies without a word, on a real API server behind a way that swallows everything."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
from typing import TYPE_CHECKING

import pytest

from policysched.cluster.objects import objects
from policysched.kube.http import client
from policysched.kube.reading import reflector, resources
from tests.e2e.scenes import failover_scene
from tests.kube.asynchronous import asynchronous
from tests.kube.following import Collection, connect
from tests.realcluster import faulty_proxy, manifests

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

STALL_SECONDS = 3.0


@asynchronous
async def test_a_watch_that_is_swallowed_is_opened_anew(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Its connection stays open and acknowledges all bytes, so only its silence tells."""
    nodes: Collection[objects.Node] = Collection()
    with faulty_proxy.FaultyProxy(control_plane) as proxy:
        direct = await connect(control_plane, tmp_path)
        around = dataclasses.replace(direct, server=proxy.server)
        async with client.ApiClient(around, rng=random.Random(1)) as api:
            following = reflector.Reflector(
                api, resources.NODES, nodes, rng=random.Random(1), stall_seconds=STALL_SECONDS
            )
            task = asyncio.create_task(following.run())
            await following.followed.wait()
            proxy.hold()
            control_plane.client.create_nodes([manifests.node("unseen")])
            await asyncio.to_thread(failover_scene.wait_until, lambda: proxy.given["hold"] > 0)
            proxy.release()
            assert "unseen" not in nodes.by_name
            await nodes.until(lambda found: "unseen" in found)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
    assert nodes.replaced == 1
