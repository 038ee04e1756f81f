"""Reads a running cluster once, and returns the objects that a cluster file would contain."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Collection, Sequence
from typing import Any

from policysched import clock as clocks
from policysched.inputs import cluster_file
from policysched.kube import errors
from policysched.kube.auth import kubeconfig
from policysched.kube.http import client
from policysched.kube.reading import decoding, listing, resources

LIMIT_SECONDS = 300.0
"""Default time limit for reading all lists; 100,000 pods take about half a minute."""

_POLICY = client.CallRetryPolicy(timeout_seconds=30.0, max_attempts=3)


@dataclasses.dataclass(frozen=True, slots=True)
class LiveClusterReference:
    """A reference to a cluster, resolved as kubectl does.

    Attributes:
        kubeconfig: a file, or several files joined by `:`; None for `KUBECONFIG`, the service
            account of this process's pod, or `~/.kube/config`.
        context: a context in the kubeconfig; None for the current context.
    """

    kubeconfig: str | None = None
    context: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ListingOptions:
    """Options for reading a cluster.

    Attributes:
        clock: the clock that decides when credentials are renewed.
        kinds: the resources to read, named as in an RBAC rule; None for all that affect decisions.
        limit_seconds: the time limit for reading all lists.
        told: receives the resource and the number of its objects that have arrived so far.
    """

    clock: clocks.Clock = dataclasses.field(default_factory=clocks.SystemClock)
    kinds: Collection[str] | None = None
    limit_seconds: float = LIMIT_SECONDS
    told: listing.Told | None = None


def read_live_cluster(
    cluster: LiveClusterReference, reading: ListingOptions | None = None
) -> tuple[str, cluster_file.ClusterObjects]:
    """Return the address of the API server and its objects, without pods that have ended.

    Each list is consistent, but the lists are read one after the other and can differ in age.

    Raises:
        KubeconfigError: the address or the credentials cannot be read.
        KubeError: the cluster cannot be reached, refuses a request, or takes too long.
    """
    return asyncio.run(_read(cluster, reading or ListingOptions()))


def read_live_objects(
    cluster: LiveClusterReference,
    wanted: Sequence[resources.ApiResource[Any]],
    reading: ListingOptions | None = None,
) -> tuple[str, list[list[Any]]]:
    """Return the address of the API server, and the objects of each resource in `wanted`.

    Raises:
        KubeconfigError: the address or the credentials cannot be read.
        KubeError: the cluster cannot be reached, refuses a request, or takes too long.
    """
    return asyncio.run(_read_lists(cluster, wanted, reading or ListingOptions()))


async def _read(
    cluster: LiveClusterReference, reading: ListingOptions
) -> tuple[str, cluster_file.ClusterObjects]:
    """Read the resources that `reading` selects, and return them as a cluster file would."""
    found = cluster_file.ClusterObjects()
    wanted = _list_resources_nodes_first(reading.kinds)
    server, lists = await _read_lists(cluster, wanted, reading)
    for resource, items in zip(wanted, lists, strict=True):
        _add_listed_objects(found, resource, items)
    return server, found


async def _read_lists(
    cluster: LiveClusterReference,
    wanted: Sequence[resources.ApiResource[Any]],
    reading: ListingOptions,
) -> tuple[str, list[list[Any]]]:
    """Read the lists one after the other, within the time limit."""
    connection = await kubeconfig.load_api_client_config(
        cluster.kubeconfig, cluster.context, reading.clock
    )
    try:
        async with (
            asyncio.timeout(reading.limit_seconds),
            client.ApiClient(connection, rng=random.Random()) as api,
        ):
            lists = [await _list_resource_items(api, resource, reading.told) for resource in wanted]
    except TimeoutError:
        problem = f"could not be read within {reading.limit_seconds:g} s"
        raise errors.KubeError(f"{connection.server}: {problem}") from None
    except errors.ApiError as error:
        raise errors.KubeError(f"{connection.server}: {error}") from error
    return connection.server, lists


async def _list_resource_items(
    api: client.ApiClient, resource: resources.ApiResource[Any], told: listing.Told | None
) -> list[Any]:
    decoder = decoding.Decoder(resource.kind)
    try:
        page = await listing.list_all_pages(api, resource, decoder, policy=_POLICY, told=told)
    except errors.NotFoundError:
        if resource.is_optional:
            return []
        raise
    return page.items


def _list_resources_nodes_first(kinds: Collection[str] | None) -> list[resources.ApiResource[Any]]:
    """Return the resources, nodes first, so that the nodes of most pods are in the result."""
    known: list[resources.ApiResource[Any]] = [
        resources.NODES,
        resources.NAMESPACES,
        *resources.OWNERS.values(),
        *resources.STORAGE.values(),
        *resources.DEVICES.values(),
        resources.BUDGETS,
        resources.PODS,
    ]
    return [each for each in known if kinds is None or each.name in kinds]


def _add_listed_objects(
    found: cluster_file.ClusterObjects, resource: resources.ApiResource[Any], items: list[Any]
) -> None:
    """Add objects to the list for their kind, as if they came from a cluster file."""
    owner = next((kind for kind, each in resources.OWNERS.items() if each is resource), None)
    if resource is resources.NODES:
        found.nodes += items
    elif resource is resources.PODS:
        found.pods += items
    elif resource is resources.NAMESPACES:
        found.namespaces += items
    elif resource is resources.BUDGETS:
        found.budgets += items
    elif resource in resources.DEVICES.values():
        found.devices += items
    elif owner is not None:
        found.owners += [(owner, item) for item in items]
    else:
        found.storage += items
