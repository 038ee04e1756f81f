"""Sends queries to one Prometheus server.

The library prometheus-api-client is used only to read names and help texts of series. This module
sends queries itself, because the library's `custom_query` drops `warnings` and `infos`, puts the
query into the URL even for POST (URLs have a length limit, and proxies log them), and quotes whole
answers in its errors. The library's retries are off, because `circuit` schedules retries for all
metrics of a source.
"""

from __future__ import annotations

import http.cookiejar
import logging
import pathlib
import ssl
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import prometheus_api_client
import requests
import requests.adapters
import requests.auth
import urllib3

import policysched
from policysched.promapi import answers, failures, range_answers, sample_matrix, settings

MAX_ANSWER_BYTES = 64 * 2**20
"""100,000 nodes need a third of this; a larger body is not a valid answer."""

_CHUNK_BYTES = 2**16
_OK = 200
_Cause = failures.QueryIssue


class PrometheusClient:
    """A connection to one server; several threads can use it at once.

    The timeout covers a request up to the last byte of its answer, even if the server sends the
    body slowly. Only a server that sends the headers slowly can exceed the timeout.
    """

    def __init__(
        self,
        name: str,
        source: settings.PrometheusSource,
        monotonic_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Configure the session without sending a request or reading a file."""
        tls = source.tls
        logging.getLogger("urllib3").setLevel(logging.ERROR)  # lower levels log URLs
        session = requests.Session()
        session.verify = False if tls.insecure_skip_verify else tls.ca_file or True
        if tls.cert_file is not None:
            key = tls.key_file
            session.cert = (tls.cert_file, key) if key is not None else tls.cert_file
        if tls.insecure_skip_verify:
            # The user has set insecureSkipVerify, so the warnings of urllib3 are not needed.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        session.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
        self._session = session
        self._headers = {"User-Agent": f"policysched/{policysched.__version__}", **source.headers}
        self._authorization = _Authorization(source)
        self._library = prometheus_api_client.PrometheusConnect(
            url=source.address,
            headers=self._headers,
            retry=requests.adapters.Retry(0, read=False),
            auth=self._authorization,
            session=session,
            timeout=source.timeout_seconds,
        )
        self._name = name
        self._source = source
        self._monotonic_seconds = monotonic_seconds

    def __repr__(self) -> str:
        """Show only the name, because other attributes can be secret."""
        return f"PrometheusClient({self._name!r})"

    def __enter__(self) -> Self:
        """Return the connection; the end of the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """Close the session."""
        self._session.close()

    def read_label_values(self, label: str) -> object:
        """Return the decoded but unchecked values of a label: a list, if the answer is well-formed.

        Raises:
            prometheus_api_client.PrometheusApiClientException: the server answered with an
                HTTP error.
            requests.RequestException: no answer arrived.
        """
        return self._library.get_label_values(label)

    def read_metadata(self) -> object:
        """Return the decoded but unchecked metadata of all metrics, keyed by metric name.

        Raises:
            prometheus_api_client.PrometheusApiClientException: the server answered with an
                HTTP error.
            requests.RequestException: no answer arrived.
        """
        return self._library.get_metric_metadata("")

    def ask(self, promql: str) -> answers.InstantVector:
        """Send an instant query, evaluated at the server's current time.

        Raises:
            QueryError: no usable answer arrived.
        """
        return answers.decode_instant_vector(*self.send_request("query", {"query": promql}))

    def ask_range(
        self, promql: str, steps: range_answers.RangeQueryTimes
    ) -> sample_matrix.SampleMatrix:
        """Send a range query; return its samples at the times of `steps`.

        Raises:
            QueryError: no usable answer arrived.
        """
        params = {"query": promql, **steps.request_params}
        return range_answers.decode_range_answer(*self.send_request("query_range", params), steps)

    def send_request(
        self, endpoint: str, params: Mapping[str, str], method: str | None = None
    ) -> tuple[bytes, str]:
        """Send one request; return the body of an HTTP 200 answer and its content type.

        Args:
            endpoint: the part of the path after `/api/v1/`.
            params: form fields or URL parameters, depending on the method.
            method: overrides the configured method, for endpoints that accept only one.

        Raises:
            QueryError: no HTTP 200 answer arrived within the timeout.
        """
        _require_tls_files(self._source.tls)
        deadline = self._monotonic_seconds() + self._source.timeout_seconds
        try:
            response = self._send_with_deadline(endpoint, params, method or self._source.method)
            with response:
                body = self._read_response(response, deadline)
        except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise self._make_timeout_error() from error
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
            if self._monotonic_seconds() >= deadline:
                raise self._make_timeout_error() from error
            raise failures.QueryError(_Cause.UNREACHABLE, _find_root_cause(error)) from None
        if response.status_code != _OK:
            raise answers.make_http_status_error(response.status_code, response.headers, body)
        return body, response.headers.get("Content-Type", "")

    def _send_with_deadline(
        self, endpoint: str, params: Mapping[str, str], method: str
    ) -> requests.Response:
        """Send the request with the configured timeout and credentials; do not follow redirects."""
        limit = f"{self._source.timeout_seconds:g}s"
        form = {**self._source.query_params, **params, "timeout": limit}
        content: dict[str, Any] = {"data" if method == "POST" else "params": form}
        response: requests.Response = self._session.request(
            method=method,
            url=f"{self._source.address}/api/v1/{endpoint}",
            headers=self._headers,
            auth=self._authorization,
            verify=self._session.verify,
            cert=self._session.cert,
            timeout=self._source.timeout_seconds,
            allow_redirects=False,  # only the configured server may receive credentials
            stream=True,
            **content,
        )
        return response

    def _read_response(self, response: requests.Response, deadline: float) -> bytes:
        """Read the body up to the deadline and the size limit."""
        body = bytearray()
        while chunk := response.raw.read1(_CHUNK_BYTES, decode_content=True):
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                raise failures.QueryError(
                    _Cause.TOO_LARGE, f"the answer has more than {MAX_ANSWER_BYTES} bytes"
                )
            if self._monotonic_seconds() >= deadline:
                raise self._make_timeout_error()
        return bytes(body)

    def _make_timeout_error(self) -> failures.QueryError:
        seconds = self._source.timeout_seconds
        return failures.QueryError(_Cause.TIMEOUT, f"no complete answer within {seconds:g} s")


class _Authorization(requests.auth.AuthBase):
    """Adds the credential to requests; with any auth object, `requests` does not read ~/.netrc."""

    def __init__(self, source: settings.PrometheusSource) -> None:
        self._source = source
        path = source.bearer_token_file
        if source.basic_auth is not None:
            path = source.basic_auth.password_file
        self._file = None if path is None else _SecretFile(path)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the Authorization header, if a credential is configured."""
        secret = None if self._file is None else self._file.read_secret()
        basic = self._source.basic_auth
        if basic is not None:
            password = secret if secret is not None else basic.password or ""
            # As bytes: `requests` would encode text as Latin-1.
            user = (basic.username.encode(), password.encode())
            requests.auth.HTTPBasicAuth(*user)(request)
            return request
        token = secret if secret is not None else self._source.bearer_token
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        return request


class _SecretFile:
    """A file with a secret, read again when it changes, because kubelets renew tokens in place."""

    def __init__(self, path: str) -> None:
        self._path = pathlib.Path(path)
        self._version: tuple[int, int, int] | None = None
        self._secret = ""

    def read_secret(self) -> str:
        """Return the content of the file without surrounding white space.

        Raises:
            QueryError: the file cannot be read, or its content cannot be part of a header.
        """
        try:
            found = self._path.stat()
            version = (found.st_mtime_ns, found.st_size, found.st_ino)
            if version != self._version:
                self._secret = self._path.read_text(encoding="utf-8").strip()
                self._version = version
        except OSError as error:
            raise self._make_secret_error(f"cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise self._make_secret_error("is not UTF-8 text") from error
        if not self._secret or not self._secret.isprintable():
            raise self._make_secret_error("contains no token or password")
        return self._secret

    def _make_secret_error(self, problem: str) -> failures.QueryError:
        return failures.QueryError(_Cause.CREDENTIAL, f"`{self._path}` {problem}")


def _require_tls_files(tls: settings.PrometheusTls) -> None:
    """Raise an error that names a missing or unreadable file; libraries can omit the path."""
    for path in (tls.ca_file, tls.cert_file, tls.key_file):
        try:
            is_missing = path is not None and not pathlib.Path(path).exists()
        except OSError as error:
            problem = f"`{path}` cannot be read: {error.strerror}"
            raise failures.QueryError(_Cause.CREDENTIAL, problem) from error
        if is_missing:
            raise failures.QueryError(_Cause.CREDENTIAL, f"there is no file `{path}`")


def _find_root_cause(error: BaseException) -> str:
    """Return the root cause of an error; outer errors contain the URL and the query."""
    reason = "the connection failed"
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {seen.verify_message}"
        if isinstance(seen, ssl.SSLError):
            reason = f"TLS failed: {seen.reason or 'the connection was closed'}"
        elif isinstance(seen, OSError) and seen.strerror:
            place = f"`{seen.filename}`: " if seen.filename else ""
            reason = f"{place}{seen.strerror.lower()}"
        seen = seen.__cause__ or seen.__context__
    return reason
