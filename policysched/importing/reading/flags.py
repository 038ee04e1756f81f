"""Parses the flags of a command line as Kubernetes programs do."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from policysched import booleans, errors
from policysched.importing.reading import flag_values
from policysched.importing.result import findings

SWITCHES = frozenset(
    {
        *("leader-elect", "profiling", "contention-profiling", "use-legacy-policy-config"),
        *("logtostderr", "alsologtostderr", "skip-headers", "skip-log-headers", "one-output"),
        *("authentication-skip-lookup", "authentication-tolerate-lookup-failure", "version"),
        *("permit-address-sharing", "permit-port-sharing", "help", "log-flush-on-exit"),
        *("disable-http2-serving", "allow-verification-with-non-compliant-keys", "add-dir-header"),
        *("log-json-split-stream", "log-text-split-stream"),
    }
)
"""Flags that need no value."""
BOOLEANS = SWITCHES - {"version"}  # which also accepts `raw`


@dataclasses.dataclass(frozen=True, slots=True)
class CommandLineFlag:
    """`--name=value` or `--name value`, without the dashes; "true" for a flag without a value."""

    name: str
    value: str
    at: findings.ValueLocation

    @property
    def is_on(self) -> bool | None:
        """The value of a boolean flag; None if the text is not a boolean."""
        return booleans.parse_boolean(self.value)


def parse_command_line_flags(
    words: Sequence[tuple[str, findings.ValueLocation]],
) -> list[CommandLineFlag]:
    """Return the flags in a command line; skip all other words.

    Raises:
        InputError: a flag has a value that kube-scheduler refuses.
    """
    found: list[CommandLineFlag] = []
    rest = list(words)
    while rest:
        text, at = rest.pop(0)
        if not text.startswith("-"):
            continue
        name, equals, value = text.lstrip("-").partition("=")
        if not equals and name not in SWITCHES and rest and not rest[0][0].startswith("-"):
            value = rest.pop(0)[0]
        flag = CommandLineFlag(name, value if equals or value else "true", at)
        _check_boolean_flag(flag, text, rest)
        _check_flag_type(flag)
        found.append(flag)
    return found


def _check_boolean_flag(
    flag: CommandLineFlag, text: str, following: Sequence[tuple[str, findings.ValueLocation]]
) -> None:
    """Refuse a value that kube-scheduler rejects for a boolean flag."""
    if flag.name not in BOOLEANS:
        return
    where = f"{flag.at.where}:{flag.at.line}"
    if flag.is_on is None:
        raise errors.InputError(
            where, f"`{text}` is neither `true` nor `false`", help=booleans.HELP
        )
    if "=" not in text and following and booleans.parse_boolean(following[0][0]) is not None:
        problem = (
            f"`{text} {following[0][0]}` is `{text}` and an argument: a boolean flag needs `=`"
        )
        raise errors.InputError(where, problem, help=f"write `{text}={following[0][0]}`")


def _check_flag_type(flag: CommandLineFlag) -> None:
    """Refuse a value that kube-scheduler rejects for a flag of any other type."""
    wanted = flag_values.TYPES.get(flag.name)
    if wanted is None or wanted.takes(flag.value):
        return
    where = f"{flag.at.where}:{flag.at.line}"
    problem = f"`--{flag.name}={flag.value}` is not {wanted.name}"
    raise errors.InputError(where, problem, help=wanted.help)
