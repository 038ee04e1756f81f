"""Flags of a command line as Kubernetes programs take them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from policysched.importing import findings

SWITCHES = frozenset(
    {
        *("leader-elect", "profiling", "contention-profiling", "use-legacy-policy-config"),
        *("logtostderr", "alsologtostderr", "skip-headers", "skip-log-headers", "one-output"),
        *("authentication-skip-lookup", "authentication-tolerate-lookup-failure", "version"),
        *("permit-address-sharing", "permit-port-sharing", "help", "log-flush-on-exit"),
        *("disable-http2-serving", "allow-verification-with-non-compliant-keys"),
    }
)
"""Flags that stand alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class Flag:
    """`--name=value`, or `--name value`; without dashes, value "true" for a switch alone."""

    name: str
    value: str
    at: findings.Place


def read(words: Sequence[tuple[str, findings.Place]]) -> list[Flag]:
    """Return the flags among the words of a command line, what comes before them apart."""
    found: list[Flag] = []
    rest = list(words)
    while rest:
        text, at = rest.pop(0)
        if not text.startswith("-"):
            continue
        name, equals, value = text.lstrip("-").partition("=")
        if not equals and name not in SWITCHES and rest and not rest[0][0].startswith("-"):
            value = rest.pop(0)[0]
        found.append(Flag(name, value if equals or value else "true", at))
    return found
