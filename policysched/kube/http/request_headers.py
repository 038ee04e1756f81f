"""Headers of every request: the credential, the user agent, and the media types of bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import policysched

JSON = "application/json"

_LINE_BREAKS = frozenset("\r\n\0")


class Headers(NamedTuple):
    """The headers of a request.

    Attributes:
        by_name: values keyed by the name of the header, for aiohttp.
        lines: the header lines of HTTP/1.1, each terminated by CR LF.
    """

    by_name: Mapping[str, str]
    lines: str


class RequestHeaderCache:
    """Headers keyed by the media type of the body; cached until the credential changes."""

    def __init__(self) -> None:
        self._authorization = ""
        self._by_type: dict[str, Headers] = {}

    def get_headers(self, content_type: str, authorization: str) -> Headers:
        """Return the headers of a request.

        Raises:
            ValueError: the credential contains a line break or NUL.
        """
        if authorization != self._authorization:
            self._by_type.clear()
            self._authorization = authorization
        headers = self._by_type.get(content_type)
        if headers is None:
            headers = self._by_type[content_type] = _build_headers(content_type, authorization)
        return headers


def _build_headers(content_type: str, authorization: str) -> Headers:
    """Build the headers; reject a credential with a line break or NUL."""
    if not _LINE_BREAKS.isdisjoint(authorization):
        raise ValueError("a credential has more than one line")
    by_name = {
        "Accept": JSON,
        "Accept-Encoding": "identity",  # compressing costs both sides more than it saves
        "Content-Type": content_type,
        "User-Agent": f"policysched/{policysched.__version__}",
    }
    if authorization:
        by_name["Authorization"] = authorization
    return Headers(by_name, "".join(f"{name}: {value}\r\n" for name, value in by_name.items()))
