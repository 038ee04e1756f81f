"""Settings that an editor sends: `initializationOptions`, or the section `policysched`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

import msgspec

from policysched import spelling

NAME = "policysched"
MAX_DELAY_MILLISECONDS = 10_000
_DELAY = "delayMilliseconds"
_OF_CLIENTS = frozenset({"command", "trace"})
"""Settings of the section that belong to the client; VS Code sends the whole section."""


class EditorSettings(msgspec.Struct, frozen=True, rename="camel"):
    """Settings; all of them are optional.

    Attributes:
        cluster: a cluster file, as printed by `kubectl get nodes,pods,namespaces -o json`.
        kubeconfig: the file of a cluster that is read live if `cluster` is not set.
        context: the context in that kubeconfig, or in the default one.
        prometheus: URL of the server whose series completion proposes in queries.
        program: the texts that form a program: all of a `folder`, or a `file` and its imports.
        delay_milliseconds: the delay of findings after the last keystroke.
    """

    cluster: str | None = None
    kubeconfig: str | None = None
    context: str | None = None
    prometheus: str | None = None
    program: Literal["folder", "file"] = "folder"
    delay_milliseconds: int = 150


class DecodedSettings(NamedTuple):
    """The settings, and the problems of invalid settings, which have their default values."""

    options: EditorSettings
    problems: tuple[str, ...] = ()


def decode_settings(raw: Any) -> DecodedSettings:  # noqa: ANN401 - untyped data from the client
    """Return the settings that a client sent, either directly or below the key `policysched`."""
    if isinstance(raw, dict) and NAME in raw:
        raw = raw[NAME]
    if not isinstance(raw, dict):
        is_empty = raw in (None, "", [])
        return DecodedSettings(
            EditorSettings(), () if is_empty else ("the settings must be an object",)
        )
    sent = {str(key): value for key, value in raw.items() if value not in (None, "", {})}
    given = {key: value for key, value in sent.items() if key not in _OF_CLIENTS}
    fields = {each.encode_name: each.type for each in msgspec.structs.fields(EditorSettings)}
    wrong = {key: _find_setting_problem(key, value, fields) for key, value in given.items()}
    right = {key: value for key, value in given.items() if not wrong[key]}
    problems = tuple(problem for problem in wrong.values() if problem)
    return DecodedSettings(msgspec.convert(right, EditorSettings), problems)


def _find_setting_problem(key: str, value: object, fields: Mapping[str, Any]) -> str:
    """Return the reason why a setting is not used, or ""."""
    if key not in fields:
        near = spelling.suggest_names(key, fields)
        return f"unknown setting `{key}`" + (near and f", {near}")
    try:
        msgspec.convert(value, fields[key])
    except msgspec.ValidationError as error:
        return f"the setting `{key}` is not used: {error}"
    if key == _DELAY and not 0 <= cast("int", value) <= MAX_DELAY_MILLISECONDS:
        return f"the setting `{key}` is not used: it is not between 0 and {MAX_DELAY_MILLISECONDS}"
    return ""
