"""List the secrets of a running scheduler, which logs must not contain."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence

from policysched.extenders import settings as extender_settings
from policysched.kube.auth import credentials as kube_credentials
from policysched.observability import redaction
from policysched.promapi import settings

_MIN_VALUE_CHARACTERS = 16
"""Shorter values of headers and parameters are names and switches, which logs contain anyway."""


def make_process_secret_source(
    credentials: kube_credentials.Credentials,
    sources: Mapping[str, settings.PrometheusSource],
    extenders: Sequence[extender_settings.ExtenderSettings] = (),
) -> redaction.KnownSecrets:
    """Return a function that yields the credentials for all servers that the process calls."""

    def known() -> Iterable[str]:
        yield credentials.authorization
        for source in sources.values():
            yield from _list_prometheus_secrets(source)
        for extender in extenders:
            yield from _list_extender_secrets(extender)

    return known


def _list_prometheus_secrets(source: settings.PrometheusSource) -> Iterator[str]:
    if source.bearer_token is not None:
        yield source.bearer_token
    if source.basic_auth is not None and source.basic_auth.password is not None:
        yield source.basic_auth.password
    for value in (*source.headers.values(), *source.query_params.values()):
        if len(value) >= _MIN_VALUE_CHARACTERS:
            yield value


def _list_extender_secrets(extender: extender_settings.ExtenderSettings) -> Iterator[str]:
    password = urllib.parse.urlsplit(extender.url_prefix).password
    if password:
        yield password
        yield urllib.parse.unquote(password)
    if extender.tls_config is not None and extender.tls_config.key_data:
        yield extender.tls_config.key_data
