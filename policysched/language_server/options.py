"""What an editor may tell the server: `initializationOptions`, or settings named `policysched`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from policysched import errors

NAME = "policysched"
MAX_DELAY_MILLISECONDS = 10_000


class Options(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Settings; all of them may be left out.

    Attributes:
        cluster: a cluster file, as `kubectl get nodes,pods,namespaces -o json` prints it.
        kubeconfig: of a cluster that is read live, instead of a file; "" for the usual one.
        context: of that kubeconfig.
        prometheus: address whose series are proposed in queries.
        program: which texts belong together: all of a `folder`, or a `file` and what it imports.
        delay_milliseconds: how long after the last keystroke findings are told.
    """

    cluster: str | None = None
    kubeconfig: str | None = None
    context: str | None = None
    prometheus: str | None = None
    program: Literal["folder", "file"] = "folder"
    delay_milliseconds: int = 150


def decode(raw: Any) -> Options:  # noqa: ANN401 - whatever the client has sent
    """Return the settings in what a client has sent: by themselves, or below their name.

    Raises:
        InputError: they are not settings of this server.
    """
    if isinstance(raw, dict) and isinstance(raw.get(NAME), dict):
        raw = raw[NAME]
    sent = raw if isinstance(raw, dict) else {}
    given = {key: value for key, value in sent.items() if value not in (None, "", {})}
    try:
        options = msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise errors.InputError("settings", str(error)) from error
    if not 0 <= options.delay_milliseconds <= MAX_DELAY_MILLISECONDS:
        problem = f"`delayMilliseconds` is not between 0 and {MAX_DELAY_MILLISECONDS}"
        raise errors.InputError("settings", problem)
    return options
