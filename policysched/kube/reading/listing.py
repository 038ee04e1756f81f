"""List a whole collection page by page."""

from __future__ import annotations

from collections.abc import Callable

from policysched.kube import errors
from policysched.kube.http import client
from policysched.kube.reading import decoding, resources

PAGE_SIZE = 500
"""Maximum number of objects per page, as in client-go's pager (tools/pager/pager.go)."""

Told = Callable[[str, int], None]
"""Receives the progress after each page: the resource, and the number of objects so far."""


async def list_all_pages(
    api: client.ApiClient,
    resource: resources.ApiResource[decoding.T],
    decoder: decoding.Decoder[decoding.T],
    *,
    policy: client.CallRetryPolicy,
    told: Told | None = None,
) -> decoding.ListPage[decoding.T]:
    """List the collection; return all pages as one page of a consistent state.

    Args:
        api: sends the requests.
        resource: the collection to list.
        decoder: decodes its objects.
        policy: timeout and attempts of each page.
        told: receives the progress after each page.

    Raises:
        KubeError: the collection could not be read.
    """
    try:
        page = await _list_in_pages(api, resource, decoder, policy, told, PAGE_SIZE)
    except errors.ResourceVersionGoneError:  # the continue token expired: list without paging
        page = await _list_in_pages(api, resource, decoder, policy, told, 0)
    if not page.resource_version:
        raise errors.UndecodableAnswerError(f"the list of {resource.name} has no resourceVersion")
    return page


async def _list_in_pages(
    api: client.ApiClient,
    resource: resources.ApiResource[decoding.T],
    decoder: decoding.Decoder[decoding.T],
    policy: client.CallRetryPolicy,
    told: Told | None,
    limit: int,
) -> decoding.ListPage[decoding.T]:
    """List with pages of `limit` objects; 0 requests all objects at once."""
    items: list[decoding.T] = []
    continue_token = ""
    while True:
        path = resource.make_list_path(limit=limit, continue_token=continue_token)
        page = decoder.decode_page(await api.send_request("GET", path, policy=policy))
        items += page.items
        if told is not None:
            told(resource.name, len(items))
        continue_token = page.continue_token
        if not continue_token:
            return decoding.ListPage(items, page.resource_version, "")
