"""Access to a page on the loopback address: only the browser of the user who started it.

Files hold no data and are open. Data needs the key of the process, which is in the URL that the
command prints. Two checks keep other web sites out. The Host must be the address that was opened,
so that no foreign name can point here (DNS rebinding). The
header Sec-Fetch-Site must not name another site.
"""

from __future__ import annotations

import hmac

from policysched.config import addresses
from policysched.serving import http_server

DATA_ROOT = "/api/"
"""Below this path is the data, which needs the key."""
_OWN_SITES = ("", "none", "same-origin")
"""Values of Sec-Fetch-Site: programs other than browsers, the address bar, the page itself."""


class LocalAccessGuard:
    """Guards the paths below DATA_ROOT; see `http_server.PageGuard`."""

    def __init__(self, key: str) -> None:
        """Ask for `key`; nothing is served before `set_address`."""
        self._expected = f"Bearer {key}".encode()
        self._hosts: frozenset[str] = frozenset()

    def set_address(self, address: addresses.ListenAddress) -> None:
        """Accept requests to `address`, or to `localhost` with the same port."""
        self._hosts = frozenset((str(address), f"localhost:{address.port}"))

    async def find_denial_page(self, asker: http_server.PageRequest) -> http_server.HttpPage | None:
        """Return the error page for a denied request, or None if access is allowed."""
        if asker.host.lower() not in self._hosts:
            return http_server.HttpPage(b"this server has another name\n", status=421)
        if not asker.path.startswith(DATA_ROOT):
            return None
        if asker.fetch_site not in _OWN_SITES:
            return http_server.HttpPage(b"another site asks for data of this page\n", status=403)
        if not hmac.compare_digest(asker.authorization.encode(errors="replace"), self._expected):
            text = b"the key is missing or wrong; open the URL that the command printed\n"
            return http_server.HttpPage(text, status=401)
        return None
