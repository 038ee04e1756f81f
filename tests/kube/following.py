"""Connections to a real API server, and sinks that can be waited for."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic

from policysched import clock as clocks
from policysched.kube.auth import kubeconfig
from policysched.kube.http import client
from policysched.kube.reading import decoding, reflector, resources
from tests.realcluster import control_plane as control_planes

CLOCK = clocks.SystemClock()


class Collection(Generic[decoding.T]):
    """A sink that is a dictionary by name, and can be waited for."""

    def __init__(self) -> None:
        self.by_name: dict[str, decoding.T] = {}
        self.replaced = 0
        self._changed = asyncio.Event()

    def replace(self, objects: Sequence[decoding.T], /) -> None:
        """Take the whole collection."""
        self.replaced += 1
        self.by_name = {one.metadata.name: one for one in objects}
        self._changed.set()

    def upsert(self, obj: decoding.T, /) -> None:
        """Take one object."""
        self.by_name[obj.metadata.name] = obj
        self._changed.set()

    def delete(self, obj: decoding.T, /) -> None:
        """Drop one object."""
        del self.by_name[obj.metadata.name]
        self._changed.set()

    async def until(self, holds: Callable[[dict[str, decoding.T]], bool]) -> None:
        """Return once the collection is as wanted."""
        while not holds(self.by_name):
            self._changed.clear()
            await self._changed.wait()


async def connect(
    plane: control_planes.ControlPlane, folder: pathlib.Path, user: str = "admin"
) -> kubeconfig.ApiClientConfig:
    """Return the connection of a user, by way of a kubeconfig that trusts the server's own CA."""
    path = plane.write_kubeconfig(folder / f"{user}.kubeconfig", user=user)
    return await kubeconfig.load_api_client_config(str(path), None, CLOCK, {})


@contextlib.asynccontextmanager
async def connected(
    plane: control_planes.ControlPlane, folder: pathlib.Path, user: str = "admin"
) -> AsyncIterator[client.ApiClient]:
    """Connect as a user."""
    connection = await connect(plane, folder, user)
    async with client.ApiClient(connection, rng=random.Random(1)) as api:
        yield api


@contextlib.asynccontextmanager
async def followed(
    api: client.ApiClient, resource: resources.ApiResource[decoding.T]
) -> AsyncIterator[tuple[Collection[decoding.T], reflector.Reflector[decoding.T]]]:
    """Follow a resource, until at least one change has arrived by watch."""
    sink: Collection[decoding.T] = Collection()
    following = reflector.Reflector(api, resource, sink, rng=random.Random(1))
    task = asyncio.create_task(following.run())
    await following.synced.wait()
    yield sink, following
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
