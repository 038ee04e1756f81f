"""The values that kube-scheduler's flags accept, by type.

Sources: pflag, which reads numbers and durations with Go's `strconv` and `time`, and the validation
in k8s.io/apiserver and k8s.io/component-base.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final

from policysched import int64

_DURATION: Final = re.compile(
    r"[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)", re.ASCII
)
"""`\u00b5s` and `\u03bcs` are the same unit: Unicode has two micro signs."""
_WHOLE: Final = re.compile(r"[-+]?(?:\d{1,19}|0[xX][0-9a-fA-F]{1,16})", re.ASCII)
_DECIMAL: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_MAX_TEXT: Final = 64
_MAX_INT32: Final = 2**31 - 1
_MAX_FLOAT32: Final = 3.4028235e38
_MAX_PORT: Final = 65535
_FORMATS: Final = ("text", "json")


@dataclasses.dataclass(frozen=True, slots=True)
class FlagType:
    """A type of flag values, which decides whether kube-scheduler accepts a value.

    Attributes:
        name: the name of the type with its article, for messages.
        takes: returns whether kube-scheduler accepts a value at startup.
        help: the advice on valid values.
    """

    name: str
    takes: Callable[[str], bool]
    help: str


def parse_go_number(text: str) -> int | float | None:
    """Return the finite number of bounded size that Go would parse, or None."""
    found = _parse_whole_number(text)
    if found is not None:
        return found
    if len(text) > _MAX_TEXT or not _DECIMAL.fullmatch(text):
        return None
    decimal = float(text)
    return decimal if abs(decimal) <= _MAX_FLOAT32 else None


def _parse_whole_number(text: str) -> int | None:
    if not _WHOLE.fullmatch(text):
        return None
    found = int(text, 16 if "x" in text.lower() else 10)
    return found if int64.fits_int64(found) else None


def _make_range_check(least: int, most: int) -> Callable[[str], bool]:
    def is_within(text: str) -> bool:
        found = _parse_whole_number(text)
        return found is not None and least <= found <= most

    return is_within


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


_AMOUNT = FlagType(
    "a number", lambda text: parse_go_number(text) is not None, "write a number such as 50"
)
_COUNT = FlagType(
    "a whole number",
    _make_range_check(-_MAX_INT32 - 1, _MAX_INT32),
    "write only digits, such as 100, without a decimal point or exponent",
)
_PORT = FlagType("a port", _make_range_check(0, _MAX_PORT), f"write a number from 0 to {_MAX_PORT}")
_DURATION_TYPE = FlagType(
    "a duration",
    lambda text: _DURATION.fullmatch(text) is not None,
    "write each number with its unit, such as 15s or 1m30s",
)
_ADDRESS = FlagType("an IP address", _is_address, "write an address such as 0.0.0.0 or ::")
_FORMAT = FlagType("a log format", _FORMATS.__contains__, f"write {' or '.join(_FORMATS)}")
_HARD_WEIGHT = FlagType("a weight", _make_range_check(0, 100), "write a number from 0 to 100")

TYPES: Final[Mapping[str, FlagType]] = {
    "kube-api-qps": _AMOUNT,
    **dict.fromkeys(("kube-api-burst", "v", "http2-max-streams-per-connection"), _COUNT),
    **dict.fromkeys(("secure-port", "port"), _PORT),
    **dict.fromkeys(("bind-address", "address"), _ADDRESS),
    **dict.fromkeys(
        (
            *("leader-elect-lease-duration", "leader-elect-renew-deadline"),
            *("leader-elect-retry-period", "pod-max-in-unschedulable-pods-duration"),
            *("authentication-token-webhook-cache-ttl", "log-flush-frequency"),
            "authorization-webhook-cache-authorized-ttl",
            "authorization-webhook-cache-unauthorized-ttl",
        ),
        _DURATION_TYPE,
    ),
    "logging-format": _FORMAT,
    "hard-pod-affinity-symmetric-weight": _HARD_WEIGHT,
}
"""Flag → its type; flags that accept any text, and boolean flags, are not listed."""
