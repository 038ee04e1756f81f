"""Read the content of /debug/decisions from a running scheduler or a file."""

from __future__ import annotations

import sys
from typing import Any

import jsonschema
import orjson

from policysched import _resources, errors
from policysched.observability import debug_client, decision_page

_ADVICE = {
    debug_client.UNAUTHORIZED: "give --token-file, with a token such as `kubectl create token` "
    "prints",
    debug_client.FORBIDDEN: "the user needs the right to `get` the nonResourceURL /debug/decisions",
    debug_client.NOT_FOUND: "is this the secure port of a policysched process?",
}


def read_decisions(
    where: str, pod: str | None, access: debug_client.DebugServerCredentials
) -> list[dict[str, Any]]:
    """Return decisions as items of schemas/decisions.schema.json, newest first.

    Args:
        where: a URL, the path of a file, or `-` for stdin.
        pod: pod as `NAMESPACE/NAME`, to return only its decisions; None for all pods.
        access: credentials, used only if `where` is a URL.

    Raises:
        InputError: the input cannot be read or does not fit the schema, or the server refused.
        RemoteError: the server could not be reached.
    """
    is_url = where.startswith(("http://", "https://"))
    body = _fetch_decision_page(where, pod, access) if is_url else _read_decision_file(where)
    found = parse_decisions(body, _format_input_name(where))
    return [each for each in found if pod in (None, each["pod"])]


def parse_decisions(body: bytes, where: str) -> list[dict[str, Any]]:
    """Return the decisions in the content of the page; `where` names it in errors.

    Raises:
        InputError: the content does not fit the schema.
    """
    try:
        page = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise errors.InputError(where, "is not JSON") from error
    schema = orjson.loads(_resources.read_resource_text("schemas", "decisions.schema.json"))
    problem = next(jsonschema.Draft202012Validator(schema).iter_errors(page), None)
    if problem is not None or not all(map(_has_scores_of_best, page["decisions"])):
        advice = f"it must be the content of {decision_page.PATH}"
        raise errors.InputError(where, "contains no decisions", help=advice)
    found: list[dict[str, Any]] = page["decisions"]
    return found


def _has_scores_of_best(decision: dict[str, Any]) -> bool:
    best, scores = decision["best"], decision["scores"]
    return not scores or (bool(best) and all(name in scores for name in best))


def _format_input_name(where: str) -> str:
    return "stdin" if where == "-" else where


def _read_decision_file(where: str) -> bytes:
    if where != "-":
        return debug_client.read_file(where)
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise errors.InputError("stdin", f"cannot be read: {error.strerror}") from error


def _fetch_decision_page(
    where: str, pod: str | None, access: debug_client.DebugServerCredentials
) -> bytes:
    """Fetch the page; a URL without a path gets the path of the page."""
    client = debug_client.DebugClient(where, access)
    path = client.path if client.path not in ("", "/") else decision_page.PATH
    query = {"limit": "1000000"} | ({} if pod is None else {"pod": pod})
    answer = client.ask(path, query)
    if answer.status != debug_client.OK:
        advice = _ADVICE.get(answer.status, "")
        problem = f"answered {answer.status} {answer.message}".rstrip()
        raise errors.InputError(answer.url, problem, help=advice)
    return answer.body
