"""Settings that an editor sends as `initializationOptions` or in the section `policysched`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

import msgspec

from policysched import spelling

NAME = "policysched"
MAX_DELAY_MILLISECONDS = 10_000
_DELAY = "delayMilliseconds"
_OF_CLIENTS = frozenset({"command", "trace"})
"""Settings in the section that only the client uses; VS Code sends the whole section."""


class EditorSettings(msgspec.Struct, frozen=True, rename="camel"):
    """The settings of an editor, all of which are optional.

    Attributes:
        cluster: the path of a cluster file, such as the output of `kubectl get nodes,pods -o json`.
        kubeconfig: the kubeconfig of a cluster that is read live if `cluster` is not set.
        context: the context in that kubeconfig, or in the default one.
        prometheus: the URL of the server whose series completion proposes in queries.
        program: the extent of a program: all texts in a `folder`, or a `file` and its imports.
        delay_milliseconds: the delay between the last keystroke and the publishing of findings.
    """

    cluster: str | None = None
    kubeconfig: str | None = None
    context: str | None = None
    prometheus: str | None = None
    program: Literal["folder", "file"] = "folder"
    delay_milliseconds: int = 150


class DecodedSettings(NamedTuple):
    """The valid settings, and the problems with invalid ones, for which the defaults apply."""

    options: EditorSettings
    problems: tuple[str, ...] = ()


def decode_settings(raw: Any) -> DecodedSettings:  # noqa: ANN401 - untyped data from the client
    """Decode the settings that a client sent, either directly or under the key `policysched`."""
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
    """Return the reason why a setting is ignored, or ""."""
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
