"""Settings of a Prometheus server, with the fields of the configuration file."""

from __future__ import annotations

import re

import msgspec

from policysched import errors, server_urls

DEFAULT_NAME = "default"
"""Name of the source for metrics that name no source, if there are several sources."""

_HELP = "write http://HOST:PORT or https://HOST"


class BasicAuth(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A user and a password or password file; `password` is never shown."""

    username: str
    password: str | None = None
    password_file: str | None = None

    def __repr__(self) -> str:
        """Show only the user."""
        return f"BasicAuth({self.username!r})"


class PrometheusTls(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Server and client certificates as PEM files, read again for each new connection.

    Attributes:
        ca_file: certificates to trust instead of the machine's.
        cert_file: client certificate.
        key_file: key of the client certificate, unless `cert_file` contains it.
        insecure_skip_verify: accept any server certificate.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    insecure_skip_verify: bool = False


class PrometheusSource(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One server; the key in the configuration file is its name.

    Attributes:
        url: scheme, host, port, and the path before `/api/v1`, if any.
        path_prefix: path appended to `url`, such as `/prometheus`.
        bearer_token: sent unchanged; `bearer_token_file` is read again when it changes.
        headers: sent with each query, such as X-Scope-OrgID.
        query_params: sent with each query, such as `dedup: "true"` for Thanos; parameters that
            queries themselves set, such as `time`, are refused.
        timeout_seconds: limit for one query, from connecting to the last byte.
        method: POST, without a limit on the query's length, or GET for proxies that permit only
            GET.
    """

    url: str
    path_prefix: str = ""
    bearer_token: str | None = None
    bearer_token_file: str | None = None
    basic_auth: BasicAuth | None = None
    tls: PrometheusTls = PrometheusTls()
    headers: dict[str, str] = {}
    query_params: dict[str, str] = {}
    timeout_seconds: float = 10.0
    method: str = "POST"

    def __repr__(self) -> str:
        """Show only the URL, because other settings can be secret."""
        return f"PrometheusSource({self.url!r})"

    @property
    def address(self) -> str:
        """The URL before `/api/v1`."""
        prefix = self.path_prefix.strip("/")
        return self.url.rstrip("/") + (f"/{prefix}" if prefix else "")


def find_source_problem(source: PrometheusSource) -> str:
    """Return what is wrong with the settings, without quoting secrets; "" if they are valid."""
    credentials = (source.bearer_token, source.bearer_token_file, source.basic_auth)
    if sum(each is not None for each in credentials) > 1:
        return "give one of `bearerToken`, `bearerTokenFile` and `basicAuth`"
    basic = source.basic_auth
    if basic is not None and (basic.password is None) == (basic.password_file is None):
        return "give one of `password` and `passwordFile` to `basicAuth`"
    tls = source.tls
    if tls.key_file is not None and tls.cert_file is None:
        return "`tls.keyFile` is the key of `tls.certFile`, which is missing"
    if tls.insecure_skip_verify and tls.ca_file is not None:
        return "`tls.insecureSkipVerify` trusts every server, so `tls.caFile` has no effect"
    named = {name.lower() for name in source.headers}
    if "authorization" in named and any(each is not None for each in credentials):
        return "the header `Authorization` is set twice: by `headers` and by a credential"
    for name, value in source.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _is_header_value(value):
            return f"the header `{name}` has characters that are not allowed in a header"
    if source.bearer_token is not None and not _is_header_value(source.bearer_token):
        return "`bearerToken` has characters that are not allowed in a header"
    own = sorted(_OWN_PARAMETERS.intersection(source.query_params))
    if own:
        return f"`queryParams` sets `{own[0]}`, which policysched sets; remove it"
    return find_url_problem(source.url)


def find_url_problem(url: str) -> str:
    """Return what is wrong with a URL, without quoting a password; "" if it is valid."""
    parts = server_urls.split_server_url(url)
    if parts is not None and "@" in parts.netloc:
        return "the URL contains a user; move it to `basicAuth`, so that it is not logged"
    if parts is None and _MAY_BE_SECRET.search(url):
        return f"this is not the URL of a server; {_HELP}, without user and parameters"
    if parts is None:
        return f"{server_urls.format_url_for_message(url)} is not the URL of a server; {_HELP}"
    if parts.query or parts.fragment:
        return "the URL ends in `?…` or `#…`; put parameters into `queryParams`"
    return ""


_MAY_BE_SECRET = re.compile(r"[@?#%=&;]")
"""Characters that can surround passwords and tokens; a text with one is never quoted."""
_OWN_PARAMETERS = frozenset({"query", "time", "timeout", "start", "end", "step"})
"""Parameters that the client sets for each query (Prometheus documentation, "HTTP API")."""
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NAMED_URL = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_-]*)=(?P<url>.*)", re.DOTALL)


def _is_header_value(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip()


def parse_prometheus_option(text: str) -> tuple[str, PrometheusSource]:
    """Parse the option `--prometheus [NAME=]URL` as the name and settings of a source.

    Raises:
        UsageError: the option does not contain a valid URL.
    """
    named = _NAMED_URL.fullmatch(text)
    name, url = (named["name"], named["url"]) if named else (DEFAULT_NAME, text)
    if found := find_url_problem(url):
        raise errors.UsageError(f"--prometheus: {found}")
    return name, PrometheusSource(url)


def get_default_source_name(names: list[str]) -> str | None:
    """Return the source of metrics that do not name one: the only source, or `default`, or None."""
    if len(names) == 1:
        return names[0]
    return DEFAULT_NAME if DEFAULT_NAME in names else None
