"""Print a configuration as YAML that can be read again, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import yaml

from policysched import server_urls
from policysched.config import config, config_reading

HIDDEN = "(hidden)"
"""Replaces a secret. It is a valid string, so the output still fits the schema."""

_SECRET_TEXTS = ("bearerToken", "keyData", "password")
_SECRET_VALUES = ("headers", "queryParams")
"""Mappings whose values can be secret: an API key is secret, X-Scope-OrgID is not."""


def format_config_yaml(given: config.Config) -> str:
    """Return YAML of all fields that have a value, in the order of docs/configuration.md."""
    fields = config_reading.HEAD | _drop_none(msgspec.to_builtins(given))
    fields["prometheus"] = {
        name: _hide_secrets(server) for name, server in fields["prometheus"].items()
    }
    fields["extenders"] = hide_extender_secrets(fields["extenders"])
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)


def hide_extender_secrets(extenders: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return `extenders` of a configuration with HIDDEN in place of keys and users of URLs."""
    return [
        _hide_secrets(each) | {"urlPrefix": server_urls.hide_credentials(each["urlPrefix"])}
        for each in extenders
    ]


def _drop_none(value: Any) -> Any:  # noqa: ANN401 - a plain value of any kind
    if isinstance(value, Mapping):
        return {key: _drop_none(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_drop_none(inner) for inner in value]
    return value


def _hide_secrets(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a server with HIDDEN in place of possible secrets."""
    shown: dict[str, Any] = {}
    for key, value in server.items():
        if key in _SECRET_TEXTS:
            shown[key] = HIDDEN if value else value
        elif key in _SECRET_VALUES:
            shown[key] = dict.fromkeys(value, HIDDEN)
        else:
            shown[key] = _hide_secrets(value) if isinstance(value, Mapping) else value
    return shown
