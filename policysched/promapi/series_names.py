"""The names of all series of a Prometheus server, for completion in editors."""

from __future__ import annotations

from collections.abc import Mapping

import requests
from prometheus_api_client import exceptions

from policysched.promapi import connection, failures, settings


def read_series_names(source: settings.PrometheusSource) -> Mapping[str, str]:
    """Return the help text of every series, or "" without one, keyed by the name of the series.

    Raises:
        QueryError: the server did not answer, or refused the request.
    """
    client = connection.PrometheusClient("editor", source)
    try:
        names = client.read_label_values("__name__")
        metadata = client.read_metadata()
    except (
        requests.exceptions.RequestException,
        exceptions.PrometheusApiClientException,
        ValueError,
        KeyError,
    ) as error:
        reason = type(error).__name__  # the text of the error quotes answers
        raise failures.QueryError(
            failures.QueryIssue.UNREACHABLE, f"names of series cannot be read: {reason}"
        ) from None
    helps = _decode_help_texts(metadata)
    listed = names if isinstance(names, list) else []
    return {name: helps.get(name, "") for name in listed if isinstance(name, str)}


def _decode_help_texts(metadata: object) -> dict[str, str]:
    """Return the help texts keyed by metric name; skip entries in an unknown format."""
    found: dict[str, str] = {}
    for name, entries in metadata.items() if isinstance(metadata, dict) else ():
        first = entries[0] if isinstance(entries, list) and entries else None
        if isinstance(first, dict):
            kind, text = str(first.get("type", "")), str(first.get("help", ""))
            found[str(name)] = f"{text} ({kind})" if kind else text
    return found
