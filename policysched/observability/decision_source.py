"""Read the content of /debug/decisions from a running scheduler or a file."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import urllib.parse
import warnings
from typing import Any

import jsonschema
import orjson

from policysched import _resources, errors, server_urls
from policysched.observability import decision_page

_TIMEOUT_SECONDS = 10.0
_OK = 200
_ADVICE = {
    401: "give --token-file, with a token such as `kubectl create token` prints",
    403: "the user needs the right to `get` the nonResourceURL /debug/decisions",
    404: "is this the secure port of a policysched process?",
}


@dataclasses.dataclass(frozen=True, slots=True)
class DecisionServerCredentials:
    """Credentials for a server, and how to verify its certificate.

    Attributes:
        token_file: path of a file with a bearer token.
        ca_file: path of CA certificates, which replace the system's certificates.
        is_unverified: accept any certificate of the server.
    """

    token_file: str | None = None
    ca_file: str | None = None
    is_unverified: bool = False


def read_decisions(
    where: str, pod: str | None, access: DecisionServerCredentials
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
    try:
        page = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise errors.InputError(_format_input_name(where), "is not JSON") from error
    schema = orjson.loads(_resources.read_resource_text("schemas", "decisions.schema.json"))
    problem = next(jsonschema.Draft202012Validator(schema).iter_errors(page), None)
    if problem is not None or not all(map(_has_scores_of_best, page["decisions"])):
        advice = f"it must be the content of {decision_page.PATH}"
        raise errors.InputError(_format_input_name(where), "contains no decisions", help=advice)
    return [each for each in page["decisions"] if pod in (None, each["pod"])]


def _has_scores_of_best(decision: dict[str, Any]) -> bool:
    best, scores = decision["best"], decision["scores"]
    return not scores or (bool(best) and all(name in scores for name in best))


def _format_input_name(where: str) -> str:
    return "stdin" if where == "-" else where


def _read_decision_file(where: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if where == "-" else pathlib.Path(where).read_bytes()
    except OSError as error:
        raise errors.InputError(where, f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # a character that paths cannot contain, such as NUL
        raise errors.InputError(
            server_urls.format_url_for_message(where), "is not a file path"
        ) from error


def _fetch_decision_page(where: str, pod: str | None, access: DecisionServerCredentials) -> bytes:
    """Fetch the page; the token is sent only to this server, never to a redirect target."""
    import requests  # noqa: PLC0415 - not needed for files

    url = _complete_decisions_url(where)
    query = {"limit": "1000000"} | ({} if pod is None else {"pod": pod})
    headers = (
        {"Authorization": f"Bearer {_read_token(access.token_file)}"} if access.token_file else {}
    )
    verify = access.ca_file or not access.is_unverified
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a certificate that the user chose not to verify
            answer = requests.get(
                url,
                params=query,
                headers=headers,
                timeout=_TIMEOUT_SECONDS,
                verify=verify,
                allow_redirects=False,  # only this server may receive the token
            )
    except requests.exceptions.SSLError as error:
        advice = "give --ca-file, or --insecure-skip-tls-verify for a self-signed certificate"
        raise errors.InputError(url, "the certificate is not trusted", help=advice) from error
    except (requests.RequestException, OSError) as error:
        raise errors.RemoteError(f"{url}: no answer: {type(error).__name__}") from error
    if answer.status_code != _OK:
        advice = _ADVICE.get(answer.status_code, "")
        said = answer.text.strip().partition("\n")[0][:200]
        raise errors.InputError(url, f"answered {answer.status_code} {said}".rstrip(), help=advice)
    return answer.content


def _complete_decisions_url(where: str) -> str:
    """Return the URL to fetch; a URL without a path gets the path of the page."""
    parts = server_urls.split_server_url(where)
    if parts is None:
        advice = "write https://HOST:PORT, or the path of a file"
        raise errors.InputError(
            server_urls.format_url_for_message(where), "is not the URL of a server", help=advice
        )
    path = parts.path if parts.path not in ("", "/") else decision_page.PATH
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _read_token(path: str) -> str:
    token = _read_decision_file(path).decode(errors="replace").strip()
    if not (token.isascii() and token.isprintable()) or not token:
        raise errors.InputError(path, "contains no token")
    return token
