"""Start one HTTP server for each address; several sets of pages can share an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from policysched.config import addresses
from policysched.serving import http_server

if TYPE_CHECKING:
    from collections.abc import Coroutine

Pages: TypeAlias = dict[str, http_server.MakePage]


def make_serving_coroutines(
    *of_addresses: tuple[addresses.ListenAddress | None, Pages],
) -> list[Coroutine[Any, Any, None]]:
    """Return coroutines that serve the pages of each address; an address of None is not served.

    Raises:
        ConfigurationError: an address is unavailable.
    """
    pages: dict[addresses.ListenAddress, Pages] = {}
    for address, made in of_addresses:
        if address is not None:
            pages.setdefault(address, {}).update(made)
    listening = [http_server.HttpServer(address, made) for address, made in pages.items()]
    return [server.run() for server in listening]
