"""Addresses to listen on, such as `127.0.0.1:9153` or `[::1]:9153`."""

from __future__ import annotations

import dataclasses
import ipaddress

from policysched import errors, int64

_MAX_PORT = 65535


@dataclasses.dataclass(frozen=True, slots=True)
class ListenAddress:
    """Address of a server socket; port 0 means that the operating system chooses one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_listen_address(text: str) -> ListenAddress:
    """Return the address in a text of the form `HOST:PORT`; HOST is an IP address or `localhost`.

    Raises:
        UsageError: the text is not an address of this form.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    number = int64.parse_unsigned_digits(port)
    if not colon or number is None or number > _MAX_PORT or not _is_listen_host(host):
        raise errors.UsageError(f"`{text}` is not an address; write 127.0.0.1:9153 or [::1]:9153")
    return ListenAddress("127.0.0.1" if host == "localhost" else host, number)


def _is_listen_host(text: str) -> bool:
    """Return whether a server can listen on the host: an IP address or `localhost`."""
    if text == "localhost":
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
