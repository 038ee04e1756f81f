"""Read the API server's address and credentials from a kubeconfig or a service account.

`kubernetes.aio` handles files, contexts, merging and the kinds of credentials; its exceptions do
not leave this package. Its messages can quote a user's whole entry, including the token. Therefore
this module detects and reports common mistakes itself, and cuts all other messages before the first
quoted structure.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import ssl
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

import msgspec
import yaml
from kubernetes.aio.client import configuration as kube_configuration
from kubernetes.aio.config import config_exception, incluster_config, kube_config

from policysched import clock as clocks
from policysched import server_urls
from policysched.kube import errors
from policysched.kube.auth import credential_sources, credentials

_SERVICE_NAMESPACE_FILENAME = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
_IN_CLUSTER = "in-cluster configuration"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SPOILED = credential_sources.SPOILED


class _ClusterEntry(msgspec.Struct):
    name: str
    cluster: dict[str, Any]


class _UserEntry(msgspec.Struct):
    name: str
    user: dict[str, Any]


class _ContextEntry(msgspec.Struct):
    name: str
    context: dict[str, Any]


class _KubeconfigShape(msgspec.Struct):
    """The form that `kubernetes.aio` requires.

    It is checked first, because errors of `kubernetes.aio` quote the content.
    """

    clusters: list[_ClusterEntry] | None
    users: list[_UserEntry] | None = None
    contexts: list[_ContextEntry] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ApiClientConfig:
    """The settings of a connection to one API server as one user.

    Attributes:
        server: base URL without a final slash.
        ssl_context: trusted authorities and client certificate; None for plain http.
        credentials: the Authorization header, kept fresh.
        server_hostname: name expected in the server's certificate, or None for the URL's host.
        proxy: URL of a proxy, or None for a direct connection; it may contain a password.
        namespace: the context's default namespace.
        own_namespace: the namespace of the pod that runs this process, or "" with a kubeconfig.
    """

    server: str
    ssl_context: ssl.SSLContext | None
    credentials: credentials.Credentials
    server_hostname: str | None = None
    proxy: str | None = dataclasses.field(default=None, repr=False)
    namespace: str = "default"
    own_namespace: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ServiceAccountFiles:
    """Paths of a pod's service account files (rest.InClusterConfig in client-go)."""

    token: pathlib.Path = pathlib.Path(incluster_config.SERVICE_TOKEN_FILENAME)
    certificate: pathlib.Path = pathlib.Path(incluster_config.SERVICE_CERT_FILENAME)
    namespace: pathlib.Path = pathlib.Path(_SERVICE_NAMESPACE_FILENAME)


async def load_api_client_config(
    path: str | None,
    context: str | None,
    clock: clocks.Clock,
    environ: Mapping[str, str] = os.environ,
) -> ApiClientConfig:
    """Return the settings of the connection to the API server.

    The first available source is used: `path`, `KUBECONFIG`, the service account of the pod that
    runs this process, `~/.kube/config`.

    Args:
        path: one or more kubeconfig files, joined by `:` and merged as by kubectl.
        context: name of a context, or None for the current context.
        clock: determines when credentials are renewed.
        environ: the environment variables.

    Raises:
        KubeconfigError: there is no usable configuration.
        CredentialError: a credential plugin or identity provider failed.
    """
    paths = path or environ.get("KUBECONFIG")
    if paths:
        return await load_kubeconfig_files(paths, context, clock)
    if environ.get(incluster_config.SERVICE_HOST_ENV_NAME):
        return await load_in_cluster_config(clock, environ)
    home = pathlib.Path.home() / ".kube" / "config"
    if _path_exists(home):
        return await load_kubeconfig_files(str(home), context, clock)
    raise errors.KubeconfigError(
        "kubeconfig",
        "none was given, this is not a pod in a cluster, and `~/.kube/config` does not exist",
        help="name one with --kubeconfig or KUBECONFIG",
    )


async def load_kubeconfig_files(
    paths: str, context: str | None, clock: clocks.Clock
) -> ApiClientConfig:
    """Return the connection settings of one or more kubeconfig files, joined by `:`.

    Raises:
        KubeconfigError: a file, the context, or a certificate cannot be used.
        CredentialError: a credential plugin or identity provider failed.
    """
    for path in _list_existing_paths(paths):
        _require_kubeconfig(path)
    loader = _make_loader(paths, context, clock)
    source = credential_sources.KubeconfigSource(loader, paths)
    await source.load(is_rejected=False)
    try:
        loader.load_cluster()
        server = _get_server_url(loader, paths)
        trust = _make_ssl_context(loader, paths) if server.startswith("https:") else None
        first = source.make_current_credential()
    except _SPOILED as error:
        raise errors.KubeconfigError(
            paths, credential_sources.describe_error_without_secrets(error)
        ) from None
    finally:
        kube_config._cleanup_temp_files()  # noqa: SLF001 - otherwise embedded keys stay in files until the process ends
    return ApiClientConfig(
        server=server,
        ssl_context=trust,
        credentials=credentials.Credentials(source, first, clock, trust),
        server_hostname=getattr(loader, "tls_server_name", None),
        proxy=_choose_proxy(loader, paths, server),
        namespace=loader.current_context["context"].get("namespace") or "default",
    )


async def load_in_cluster_config(
    clock: clocks.Clock,
    environ: Mapping[str, str] = os.environ,
    files: ServiceAccountFiles = ServiceAccountFiles(),
) -> ApiClientConfig:
    """Return the connection settings of the pod that runs this process.

    Raises:
        KubeconfigError: the process is not in a pod, or the service account cannot be read.
    """
    loader = incluster_config.InClusterConfigLoader(
        token_filename=str(files.token), cert_filename=str(files.certificate), environ=environ
    )
    source = credential_sources.ServiceAccountSource(files.token)
    try:
        loader.load_and_set(kube_configuration.Configuration(host=""))
        first = await source.load(is_rejected=False)
        trust = ssl.create_default_context(cafile=loader.ssl_ca_cert)
    except ssl.SSLError as error:
        raise errors.KubeconfigError(str(files.certificate), "no PEM certificate") from error
    except (OSError, ValueError, config_exception.ConfigException) as error:
        raise errors.KubeconfigError(
            _IN_CLUSTER, credential_sources.describe_error_without_secrets(error)
        ) from error
    _accept_missing_key_identifiers(trust)
    return ApiClientConfig(
        server=loader.host,
        ssl_context=trust,
        credentials=credentials.Credentials(source, first, clock),
        own_namespace=_read_own_namespace(files.namespace),
    )


def _read_own_namespace(file: pathlib.Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):  # the namespace file is optional
        return ""


def _list_existing_paths(paths: str) -> list[pathlib.Path]:
    """Return the existing files; like kubectl, ignore missing files if at least one exists."""
    named = [pathlib.Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    found = [path for path in named if _path_exists(path)]
    if not found:
        raise errors.KubeconfigError(
            paths, "no such file", help="name a kubeconfig with --kubeconfig or KUBECONFIG"
        )
    return found


def _path_exists(path: pathlib.Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # a parent folder is not accessible
        raise errors.KubeconfigError(str(path), f"cannot be read: {error.strerror}") from error


def _require_kubeconfig(path: pathlib.Path) -> None:
    """Reject a file that is not a kubeconfig, without quoting its content."""
    where = str(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise errors.KubeconfigError(where, f"cannot be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        # `from None`, because the YAML error quotes the text.
        raise errors.KubeconfigError(f"{where}:{line}", "not YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError):  # deep nesting, bad numbers
        raise errors.KubeconfigError(where, "not YAML") from None
    try:
        msgspec.convert(content, _KubeconfigShape)
    except msgspec.ValidationError as error:  # the error contains types and paths, but no values
        raise errors.KubeconfigError(where, f"not a kubeconfig: {error}") from None


def _make_loader(
    paths: str, context: str | None, clock: clocks.Clock
) -> credential_sources.KubeconfigLoader:
    """Return a loader after checking that the context, its cluster and its user exist."""
    try:
        merged = kube_config.KubeConfigMerger(paths).config
        content = merged.value
        _check_context_entries(paths, content, context or content.get("current-context"))
        loader = credential_sources.KubeconfigLoader(merged, clock, context=context, where=paths)
    except _SPOILED as error:
        raise errors.KubeconfigError(
            paths, credential_sources.describe_error_without_secrets(error)
        ) from None
    if loader.is_impersonating:
        raise errors.KubeconfigError(paths, "impersonation (`as`) is not supported")
    return loader


def _check_context_entries(where: str, content: Mapping[str, Any], name: str | None) -> None:
    """Reject a context that is missing or names a missing cluster or user."""
    contexts = {entry["name"]: entry["context"] for entry in content["contexts"]}
    known = ", ".join(f"`{one}`" for one in sorted(contexts)) or "none"
    if not name:
        problem = "there is no current context"
        raise errors.KubeconfigError(where, problem, help=f"choose one of: {known}")
    if name not in contexts:
        raise errors.KubeconfigError(
            where, f"there is no context `{name}`", help=f"there are: {known}"
        )
    for kind in ("cluster", "user"):
        wanted = contexts[name].safe_get(kind)
        if wanted and wanted not in {entry["name"] for entry in content[f"{kind}s"]}:
            raise errors.KubeconfigError(
                where, f"context `{name}` names the {kind} `{wanted}`, which does not exist"
            )


def _get_server_url(loader: credential_sources.KubeconfigLoader, where: str) -> str:
    """Return the server's base URL, which must be http or https."""
    server = str(getattr(loader, "host", ""))
    if (
        not server.startswith(("https://", "http://"))
        or server_urls.split_server_url(server) is None
    ):
        raise errors.KubeconfigError(
            where,
            f"{server_urls.format_url_for_message(server)} is not the address of a server",
            help="https://HOST:PORT",
        )
    return server


def _choose_proxy(
    loader: credential_sources.KubeconfigLoader, where: str, server: str
) -> str | None:
    """Return the proxy of the cluster entry or environment; the URL may contain a password."""
    own: str | None = getattr(loader, "proxy", None)
    proxy = own or _find_environment_proxy(server)
    if proxy is not None and server_urls.split_server_url(proxy) is None:
        place, name = (where, "`proxy-url`") if own else ("environment", "the proxy")
        raise errors.KubeconfigError(
            place, f"{name} is not the address of a proxy", help="http://HOST:PORT"
        )
    return proxy


def _make_ssl_context(loader: credential_sources.KubeconfigLoader, where: str) -> ssl.SSLContext:
    """Return a TLS context with the cluster entry's authorities and no client certificate."""
    try:
        context = ssl.create_default_context(cafile=loader.ssl_ca_cert)
    except ssl.SSLError as error:
        raise errors.KubeconfigError(
            where, "the certificate authority is not a PEM certificate"
        ) from error
    if not getattr(loader, "verify_ssl", True):  # insecure-skip-tls-verify
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    _accept_missing_key_identifiers(context)
    return context


def _accept_missing_key_identifiers(context: ssl.SSLContext) -> None:
    """Accept authorities without key identifiers, as Go does; some clusters have them.

    Python 3.13 refuses them by default (`ssl.create_default_context`).
    """
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT


def _find_environment_proxy(server: str) -> str | None:
    """Return the proxy that the environment sets for the server, if any.

    HTTPS_PROXY names it, or HTTP_PROXY for an http:// server. Loopback hosts and the hosts of
    NO_PROXY have none.
    """
    url = urllib.parse.urlsplit(server)
    host = url.hostname or ""
    if host in _LOOPBACK or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(url.scheme)
