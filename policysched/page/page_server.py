"""Serve the page to one user on a loopback address, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
import signal
from collections.abc import Callable, Mapping

from policysched import clock as clocks
from policysched import errors
from policysched.config import addresses
from policysched.page import api, draft_api, local_access, page_source, text_forms
from policysched.serving import http_server, static_files

_KEY_BYTES = 16
_MAX_BODY_BYTES = 1 << 20
"""Limit of a POST request; all policies that are edited together are in one."""


class PageServer:
    """Serves the page and its data.

    Attributes:
        url: the address of the page, with the key in its fragment, which browsers do not send.
    """

    def __init__(
        self,
        address: addresses.ListenAddress,
        source: page_source.PageSource,
        texts: text_forms.TextForms,
        clock: clocks.Clock,
        key: str | None = None,
        *,
        others: Mapping[str, http_server.MakePage] | None = None,
    ) -> None:
        """Open the port; `key` is drawn if it is None. `others` replace pages of the source.

        Raises:
            UsageError: the address is not a loopback address.
            ConfigurationError: the address is unavailable.
        """
        if not ipaddress.ip_address(address.host).is_loopback:
            raise errors.UsageError(
                f"`{address}` is not a loopback address; the page is for the user of this machine, "
                "so write 127.0.0.1:PORT"
            )
        drawn = secrets.token_urlsafe(_KEY_BYTES) if key is None else key
        guard = local_access.LocalAccessGuard(drawn)
        self._api = api.PageApi(source, texts, clock)
        self._drafts = draft_api.DraftApi(source, texts, clock)
        pages = {
            **static_files.load_static_pages(),
            **self._api.make_pages(),
            **self._drafts.make_pages(),
            **(others or {}),
        }
        posts = http_server.PostRoutes(
            {**self._api.make_posts(), **self._drafts.make_posts()}, _MAX_BODY_BYTES
        )
        self._server = http_server.HttpServer(address, pages, guard=guard, posts=posts)
        guard.set_address(self._server.bound)
        self.url = f"http://{self._server.bound}/#key={drawn}"

    async def run(self, announce: Callable[[str], None]) -> None:
        """Call `announce` with the URL, and serve until the process receives SIGTERM or SIGINT."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
        serving = asyncio.create_task(self._server.run())
        announce(self.url)
        waiting = asyncio.create_task(ended.wait())
        try:
            await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            self._api.close()
            self._drafts.close()
