"""Absolute URLs, read as Go's `net/url` reads them.

Sources: Go `net/url/url.go`, `k8s.io/apiserver/pkg/cel/library/urls.go`. Python's `urllib.parse`
accepts nearly every text, so it is not used.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Final

from policysched.cel.failures import EvaluationError, make_overload_error
from policysched.cel.meter import Meter
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import BOOL, STRING, URL, list_of, map_of
from policysched.cel.values import Map, StrictValue, Value, register_type

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_PORT = re.compile(r"(?::[0-9]*)?")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})")
_HOST_BYTES: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~!$&'()*+,;=:[]<>\""
)
_PATH_BYTES: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=@"
)
_KEPT_PATH_BYTES: Final = _PATH_BYTES | frozenset(b"!'()*[]%")
_FIRST_NON_ASCII: Final = 0x80
_STRICT_SCHEMES: Final = frozenset({"http", "https"})
_MAX_QUERY_PARTS: Final = 10_000


@dataclasses.dataclass(frozen=True, slots=True)
class URLValue(StrictValue):
    """A parsed URL; `raw_path` and `raw_query` are as written."""

    text: str
    scheme: str
    host: str
    raw_path: str
    raw_query: str

    def equals(self, other: Value) -> bool:
        """Return whether the URLs are written alike."""
        if type(other) is not URLValue:
            raise make_overload_error()
        return self.text == other.text


register_type(URLValue, URL.name, is_pointer=True)


def _fail(problem: str) -> EvaluationError:
    return EvaluationError(f"URL parse error during conversion from string: {problem}")


@define("url", (STRING,), URL)
def parse_url(text: str) -> URLValue:
    """Return the URL of a text.

    Raises:
        EvaluationError: it is not a URL, or is relative without a leading slash.
    """
    _parse(text, is_request=True)
    # As in Go, the first parse takes a fragment for a part of the path, so it only checks the text.
    return _parse(text.partition("#")[0], is_request=False)


@define("isURL", (STRING,), BOOL)
def is_url(text: str) -> bool:
    """Return whether a text is an absolute URL or an absolute path."""
    try:
        _parse(text, is_request=True)
    except EvaluationError:
        return False
    return True


def _parse(text: str, *, is_request: bool) -> URLValue:
    # Go refuses control characters everywhere; a space only in the host.
    if _CONTROL.search(text.replace(" ", "")):
        raise _fail("net/url: invalid control character in URL")
    if not text and is_request:
        raise _fail("empty url")
    if text == "*":
        return URLValue(text, "", "", "*", "")
    if text.startswith(":"):
        raise _fail("missing protocol scheme")
    match = _SCHEME.fullmatch(text)
    scheme, rest = (match[1].lower(), match[2]) if match is not None else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URLValue(text, scheme, "", "", query)
        if is_request or ":" in rest.partition("/")[0]:
            raise _fail("invalid URI for request")
    host = ""
    has_authority = rest.startswith("//") and (
        scheme or (not is_request and not rest.startswith("///"))
    )
    if has_authority:
        authority, slash, path = rest[2:].partition("/")
        host, rest = _parse_authority(scheme, authority), slash + path
    _unescape(rest)
    return URLValue(text, scheme, host, rest, query)


def _parse_authority(scheme: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    parsed = _parse_host(scheme, host)
    if at:
        if _USER.fullmatch(user) is None:
            raise _fail("net/url: invalid userinfo")
        _unescape(user)
    return parsed


def _parse_host(scheme: str, host: str) -> str:
    if "[" in host:
        return _parse_bracketed_host(host)
    colon = host.find(":") if scheme in _STRICT_SCHEMES else host.rfind(":")
    if colon >= 0 and _PORT.fullmatch(host[colon:]) is None:
        raise _fail("invalid port after host")
    return _unescape_host(host)


def _parse_bracketed_host(host: str) -> str:
    name, bracket, port = host[1:].rpartition("]")
    if not host.startswith("[") or "[" in name or not bracket or _PORT.fullmatch(port) is None:
        raise _fail("invalid IP-literal")
    try:
        ipaddress.IPv6Address(name.replace("%25", "%", 1))
    except ValueError:
        raise _fail("invalid host") from None
    return f"[{name.replace('%25', '%', 1)}]{port}"


def _unescape_host(host: str) -> str:
    data = host.encode()
    if any(each < _FIRST_NON_ASCII and each not in _HOST_BYTES | {ord("%")} for each in data):
        raise _fail("invalid character in host name")
    if any(int(digits, 16) < _FIRST_NON_ASCII for digits in _ESCAPE.findall(data)):
        raise _fail("invalid URL escape")
    return _unescape(host)


def _unescape(text: str, *, is_query: bool = False) -> str:
    data = text.encode()
    if data.count(b"%") != len(_ESCAPE.findall(data)):
        raise _fail("invalid URL escape")
    if is_query:
        data = data.replace(b"+", b" ")
    decoded = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), data)
    return decoded.decode("utf-8", "replace")


@define_method("getScheme", (URL,), STRING)
def get_scheme(value: URLValue) -> str:
    """Return the scheme, in lower case."""
    return value.scheme


@define_method("getHost", (URL,), STRING)
def get_host(value: URLValue) -> str:
    """Return the host with its port."""
    return value.host


@define_method("getHostname", (URL,), STRING)
def get_hostname(value: URLValue) -> str:
    """Return the host without its port and brackets."""
    name, _ = _split_host(value.host)
    return name


@define_method("getPort", (URL,), STRING)
def get_port(value: URLValue) -> str:
    """Return the port, or an empty text."""
    _, port = _split_host(value.host)
    return port


def _split_host(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or _PORT.fullmatch(colon + port) is None:
        name, port = host, ""
    return name.removeprefix("[").removesuffix("]") if name.startswith("[") else name, port


@define_method("getEscapedPath", (URL,), STRING)
def get_escaped_path(value: URLValue) -> str:
    """Return the path with escapes: as written, if everything is escaped that must be."""
    raw = value.raw_path.encode()
    if all(each in _KEPT_PATH_BYTES for each in raw):
        return value.raw_path
    decoded = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), raw)
    return "".join(chr(each) if each in _PATH_BYTES else f"%{each:02X}" for each in decoded)


@define_method("getQuery", (URL,), map_of(STRING, list_of(STRING)), is_metered=True)
def get_query(meter: Meter, value: URLValue) -> Map:
    """Return the values of each key of the query; parts that are not valid are left out."""
    meter.charge(1 + len(value.raw_query))
    found: dict[str, list[str]] = {}
    for part in value.raw_query.split("&")[:_MAX_QUERY_PARTS]:
        key, _, item = part.partition("=")
        if not part or ";" in part:
            continue
        try:
            pair = _unescape(key, is_query=True), _unescape(item, is_query=True)
        except EvaluationError:
            continue
        found.setdefault(pair[0], []).append(pair[1])
    return Map(dict(found))
