"""Imports the ports, certificates and logging settings of kube-scheduler."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from policysched import durations
from policysched.importing.reading import fields, flags
from policysched.importing.result import findings, import_draft

_ANY_HOST = "0.0.0.0"  # noqa: S104 - kube-scheduler's default, when one of the two is given
_SECURE_PORT = "10259"
_PLAIN_PORT = "10251"
_BIND = "bind-address"
_PORT = "secure-port"
_OLD_BIND = "address"
_OLD_PORT = "port"
_SERVING = "operations, not placement: set the ports and profiling of `policysched run`"

_FIELDS: Mapping[str, str] = {"tls-cert-file": "certFile", "tls-private-key-file": "keyFile"}
_PATHS = "authorization-always-allow-paths"
_CACHES: Mapping[str, str] = {
    "authentication-token-webhook-cache-ttl": "authentication",
    "authorization-webhook-cache-authorized-ttl": "authorization",
}
"""Flag → the group of `serving` whose `cacheSeconds` it sets."""
_LOG_FORMAT = "logging-format"

FLAGS = frozenset({*_FIELDS, *_CACHES, _BIND, _PORT, _OLD_BIND, _OLD_PORT, _PATHS, _LOG_FORMAT})
"""Flags that `add_serving_flags` imports."""

_Group = dict[str, tuple[findings.ValueLocation, Any]]


def format_serving_address(host: str, port: str) -> str:
    """Return an address as a configuration value, or "" for port 0, which disables serving."""
    if port == "0":
        return ""
    try:
        is_v6 = ipaddress.ip_address(host).version == 6  # noqa: PLR2004 - the version of IP
    except ValueError:
        is_v6 = False  # the reader of the configuration reports an invalid host
    return f"[{host}]:{port}" if is_v6 else f"{host}:{port}"


def add_serving_flags(
    found: Sequence[flags.CommandLineFlag], made: import_draft.ImportDraft
) -> None:
    """Add the serving settings that flags specify."""
    by_name = {flag.name: flag for flag in found}
    group: _Group = {}
    for field, bind, port, default in (
        ("secureAddress", _BIND, _PORT, _SECURE_PORT),
        ("metricsAddress", _OLD_BIND, _OLD_PORT, _PLAIN_PORT),
    ):
        given = [by_name[name] for name in (bind, port) if name in by_name]
        if given:
            host = by_name[bind].value if bind in by_name else _ANY_HOST
            number = by_name[port].value if port in by_name else default
            _set_serving_field(group, field, given[0].at, format_serving_address(host, number))
    for name, field in _FIELDS.items():
        if name in by_name:
            _set_serving_field(group, field, by_name[name].at, by_name[name].value)
    for name, inner in _CACHES.items():
        if name in by_name:
            _set_group_field(
                group,
                inner,
                "cacheSeconds",
                by_name[name],
                _parse_cache_seconds(by_name[name].value),
            )
    if _PATHS in by_name:
        paths = [path for path in by_name[_PATHS].value.split(",") if path]
        _set_group_field(group, "authorization", "alwaysAllowPaths", by_name[_PATHS], paths)
    made.set_config_group("serving", group)
    if _LOG_FORMAT in by_name:
        flag = by_name[_LOG_FORMAT]
        made.set_config_group("logging", {"format": (flag.at, flag.value)})


def _parse_cache_seconds(text: str) -> float | str:
    found = durations.parse_duration_seconds(text)
    return text if found is None else found


def _set_serving_field(group: _Group, field: str, at: findings.ValueLocation, value: str) -> None:
    if value:
        group[field] = (at, value)


def _set_group_field(
    group: _Group, name: str, field: str, flag: flags.CommandLineFlag, value: object
) -> None:
    _, inner = group.get(name, (flag.at, {}))
    group[name] = (flag.at, {**inner, field: value})


def add_serving_fields(given: fields.StrictFields, made: import_draft.ImportDraft) -> None:
    """Add the addresses that serve metrics and health without TLS (until v1beta1)."""
    group: _Group = {}
    for name in ("metricsBindAddress", "healthzBindAddress"):
        value = str(given.read_value(name) or "")
        host, _, port = value.rpartition(":")
        if not port or port == "0":
            continue
        if group:
            problem = f"`{name}: {value}` is left out"
            advice = "one address serves health and metrics"
            if group["metricsAddress"][1] != format_serving_address(_parse_host(host), port):
                given.report.note(given.locate_field(name), problem, advice)
            continue
        _set_serving_field(
            group,
            "metricsAddress",
            given.locate_field(name),
            format_serving_address(_parse_host(host), port),
        )
    made.set_config_group("serving", group)
    for name in ("enableProfiling", "enableContentionProfiling"):
        if name in given:
            is_on = given.read_boolean(name, default=False)
            given.report.note(given.locate_field(name), f"`{name}: {is_on}` is left out", _SERVING)


def _parse_host(text: str) -> str:
    return text.strip("[]") or _ANY_HOST
