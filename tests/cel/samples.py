"""Constants of generated expressions, and devices whose attributes have any type."""

from __future__ import annotations

import random
from typing import Any, Final

DRIVER: Final = "gpu.example.com"
DOMAINS: Final = (DRIVER, "net.example.com", "unknown.example.com")
IDENTIFIERS: Final = ("model", "index", "healthy", "firmware", "memory", "address", "missing")
TEXTS: Final = ("", "a", "A100", "a-b-c", "1.2.3", "7", "1Gi", "gpu", "é", "10.0.0.1", "true")
PATTERNS: Final = (
    *("a", "^A", "[0-9]+$", "a*", "(", "b|c", "^$", "(?i)a100", "a{2,3}", "[[:alpha:]]"),
    *(
        f"\\\\{escape}"
        for escape in ("d+", "C", "pL", "PN", "Qa", "z", "Z", "x41", "1", "bA", "\\\\C")
    ),
)
INTS: Final = ("0", "1", "2", "7", "-1", "100", "9223372036854775807", "-9223372036854775808")
DOUBLES: Final = ("0.0", "1.0", "1.5", "-2.5", "7.0", "1e3", "1e300")
ODD_NUMBERS: Final = (
    *("9223372036854775808", "0x8000000000000000", "-(9223372036854775808)", "0xF", "-0x1"),
    *("-(-9223372036854775808)", "--9223372036854775808", "-9223372036854775809", "-(-1)"),
    *("-0x8000000000000000", "(-9223372036854775808)", "--1", "-(1)", "-1", "-dyn(1)"),
)
ODD_UINTS: Final = ("18446744073709551615u", "18446744073709551616u", "0xFu", "0x1U", "-1u")
ODD_DOUBLES: Final = ("1e309", "-1e309", "1e-400", ".5", "1.e3", "-(1.5)", "1E3", "0.0 / 0.0")
MESSAGE_FIELDS: Final = (
    *(("seconds",), ("nanos",), ("seconds", "?nanos"), ("?seconds",), ("other",), ("`seconds`",)),
    (),
)
"""Fields in the order of the message, in which policysched evaluates them."""
SECONDS: Final = ("0", "1", "-1", "1770000000", "2147483648", '"a"', "1u", "null")
KEY_KINDS: Final = (
    "double",
    "list",
    "null",
    "string",
    "int",
    "bytes",
    "duration",
    "semver",
    "any",
)
NESTINGS: Final = (
    *(("(", ")"), ("!(", ")"), ("dyn(", ")"), ("(true && ", ")"), ("cel.bind(x, 1, ", ")")),
    *(("", " == true"), ("", " ? true : true"), ("", ".a"), ("", "[0]")),
)
DEPTHS: Final = (2, 100, 200, 260, 400)
"""Neither parser counts all levels alike, so depths near the limit of 250 are left out."""
VERSIONS: Final = ("1.2.3", "1.2.3-rc.1", "1.2.3+build", "2.0.0", "0.9.10", "10.0.0-alpha.2")
LOOSE_VERSIONS: Final = ("v1.2", "1", "01.2.3", "1.2", "x", "1.2.3.4", "")
QUANTITIES: Final = ("1Gi", "1G", "500m", "1500m", "2", "0", "40Gi", "1e3", "-5", "1073741824")
LONG_QUANTITIES: Final = ("1.5Gi", "1.25", "9223372036854775808", "0.0000000001", "x", "1Q", "")
ADDRESSES: Final = ("10.0.0.1", "127.0.0.1", "::1", "fe80::1", "224.0.0.1", "::ffff:1.2.3.4", "x")
NETWORKS: Final = ("10.0.0.0/8", "10.1.2.3/16", "::/0", "fe80::/10", "1.2.3.4/33", "x")
URLS: Final = (
    "https://a.example.com:8080/x%20y?k=1&k=2#f",
    "http://[::1]:80/p",
    "/only/path",
    "mailto:x",
    "a",
    "http://a b/",
)
DURATIONS: Final = ("1h", "90s", "1.5h", "-3m", "0", "1h1m1s1ms", "-1.0015s")
TIMESTAMPS: Final = ("2026-01-31T08:00:00Z", "1999-12-31T23:59:59.5+01:00")
FORMATS: Final = (
    "dns1123Label",
    "dns1123Subdomain",
    "qualifiedName",
    "labelValue",
    "uuid",
    "date",
)


def make_device(rng: random.Random) -> dict[str, Any]:
    """Return a device whose attributes have any type."""
    names = [
        rng.choice(("", f"{rng.choice(DOMAINS[:2])}/")) + identifier
        for identifier in IDENTIFIERS[:-1]
        if rng.random() < 0.8
    ]
    return {
        "driver": DRIVER,
        "allowMultipleAllocations": rng.random() < 0.5,
        "attributes": {name: _make_attribute(rng, name) for name in names},
        "capacity": {
            name: {"value": rng.choice(QUANTITIES)}
            for name in ("memory", "net.example.com/bandwidth")
            if rng.random() < 0.8
        },
    }


def _make_attribute(rng: random.Random, name: str) -> dict[str, Any]:
    usual = {"index": "int", "healthy": "bool", "firmware": "version"}
    kind = usual.get(name.rpartition("/")[2], "string")
    if rng.random() < 0.2:
        kind = rng.choice(("int", "bool", "version", "string"))
    values: dict[str, Any] = {
        "int": rng.choice((0, 1, 2, 7, 100, -1, 2**63 - 1)),
        "bool": rng.random() < 0.5,
        "version": rng.choice(VERSIONS),
        "string": rng.choice(TEXTS),
    }
    return {kind: values[kind]}
