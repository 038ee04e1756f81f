"""Server URLs from options, configurations and kubeconfigs."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse

from policysched import control_characters

_HOST_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_USER = re.compile(r"//[^/]*@")
_SCHEMES = frozenset({"http", "https"})


def split_server_url(url: str) -> urllib.parse.SplitResult | None:
    """Return the parts of `http[s]://HOST[:PORT][/PATH]`, or None if no client can use the text.

    `urlsplit` drops tabs and line ends, and accepts names that are invalid in DNS. Each client
    would raise a different error when it connects, so these URLs are refused when they are read.
    """
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urllib.parse.urlsplit(url)
        is_usable = parts.scheme in _SCHEMES and parts.port != 0 and _is_valid_host(parts)
    except ValueError:  # invalid brackets, an invalid port, or a name without an IDNA form
        return None
    return parts if is_usable else None


def format_url_for_message(url: str) -> str:
    """Return a URL for a message: in backticks, without credentials and control characters."""
    return f"`{hide_credentials(url)}`"


def hide_credentials(url: str) -> str:
    """Return a URL without credentials and control characters."""
    return control_characters.escape_unprintable_to_one_line(_USER.sub("//(hidden)@", url))


def _is_valid_host(parts: urllib.parse.SplitResult) -> bool:
    """Return whether the host is an IP address or a valid DNS name.

    Raises:
        ValueError: the brackets do not contain an IPv6 address, or the name has no IDNA form.
    """
    host = parts.hostname or ""
    if "[" in parts.netloc:
        # The zone of an address is percent-encoded in a URL (RFC 6874).
        return bool(ipaddress.IPv6Address(host.replace("%25", "%", 1)))
    return bool(_HOST_NAME.fullmatch(host.encode("idna").decode()))
