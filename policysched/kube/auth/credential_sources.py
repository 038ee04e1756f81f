"""Sources of credentials: a kubeconfig's user, or a pod's service account.

A kubeconfig's user has a token, a token file, a client certificate, a password, an exec plugin or
an OIDC provider. `kubernetes.aio` reads them; this module changes how exec plugins fail, when they
run again, and how OIDC tokens are renewed. It returns plain `Credential` values.
"""

from __future__ import annotations

import asyncio
import binascii
import datetime
import pathlib
import shutil
from typing import Any

from kubernetes.aio.config import config_exception, exec_provider, kube_config

from policysched import clock as clocks
from policysched.kube import errors
from policysched.kube.auth import credentials, oidc

EXEC_TIMEOUT_SECONDS = 60.0
"""Ends exec plugins that wait for interactive input, which a scheduler never provides."""

SPOILED = (
    AttributeError,
    KeyError,
    OSError,
    TypeError,
    ValueError,
    config_exception.ConfigException,
)
"""Exceptions that `kubernetes.aio` raises for a malformed kubeconfig."""


class KubeconfigLoader(kube_config.KubeConfigLoader):
    """The loader of `kubernetes.aio`, changed so that a failing exec plugin raises an error.

    The original logs the failure and continues without a credential.
    """

    _user: Any  # a ConfigNode; `kubernetes.aio` has no type annotations

    def __init__(
        self,
        config: kube_config.ConfigNode,
        clock: clocks.Clock,
        *,
        context: str | None,
        where: str,
    ) -> None:
        super().__init__(config, active_context=context, config_base_path=None)  # type: ignore[no-untyped-call]  # as _user
        self._clock = clock
        self._where = where
        self._has_exec_credential = False
        self._exec_expires_at: datetime.datetime | None = None
        self.exec_certificate = b""
        self.exec_key = b""

    @property
    def is_impersonating(self) -> bool:
        """Whether the user's entry requests the impersonation of another user."""
        return self._user is not None and "as" in self._user

    def forget_exec_credential(self) -> None:
        """Discard the plugin's credential; the next load runs the plugin again."""
        self._has_exec_credential = False

    async def load_credential(self) -> None:
        """Load the credential again from the source that the user's entry names."""
        await self._load_authentication()  # type: ignore[no-untyped-call]  # as _user

    def load_cluster(self) -> None:
        """Load the settings of the cluster, such as `host`, `ssl_ca_cert` and `cert_file`."""
        self._load_cluster_info()  # type: ignore[no-untyped-call]  # as _user

    async def load_from_exec_plugin(self) -> bool:
        """Run the plugin unless its last credential is still valid; always return True.

        A credential without an expiry time is valid until the server refuses it, as in client-go.
        The overridden method requires a return value.

        Raises:
            CredentialError: the plugin failed.
        """
        if self._has_exec_credential and not self._is_exec_credential_expired():
            return True
        status = await self._run_plugin()
        if "token" in status:
            self.token = f"Bearer {status['token']}"
        self.exec_certificate = str(status.get("clientCertificateData", "")).encode()
        self.exec_key = str(status.get("clientKeyData", "")).encode()
        self._exec_expires_at = _parse_expiry(status.get("expirationTimestamp"))
        self._has_exec_credential = True
        return True

    async def _load_oid_token(self) -> str:
        """Renew the ID token if necessary; return the Authorization header's value."""
        settings = self._user["auth-provider"]["config"]
        try:
            await oidc.renew_id_token_if_due(settings.value, self._clock.now())
        except errors.CredentialError as error:
            raise errors.CredentialError(f"{self._where}: {error}") from error
        self.token = f"Bearer {settings['id-token']}"
        return self.token

    def _is_exec_credential_expired(self) -> bool:
        expires_at = self._exec_expires_at
        return expires_at is not None and self._clock.now() >= expires_at - oidc.EXPIRY_MARGIN

    async def _run_plugin(self) -> dict[str, Any]:
        """Run the exec plugin and return the `status` of its ExecCredential."""
        settings = self._user["exec"]
        command = settings.safe_get("command") or ""
        if shutil.which(command) is None:
            hint = str(settings.safe_get("installHint") or "").strip()
            raise errors.CredentialError(
                f"{self._where}: the credential plugin `{command}` does not exist"
                + (f" ({hint})" if hint else "")
            )
        try:
            provider = exec_provider.ExecProvider(settings)
            status = await asyncio.wait_for(provider.run(), EXEC_TIMEOUT_SECONDS)
        except TimeoutError:
            problem = f"did not end within {EXEC_TIMEOUT_SECONDS:.0f} s"
        except (config_exception.ConfigException, OSError) as error:
            problem = f"failed: {error}"
        else:
            given = status.keys() if isinstance(status, dict) else set()
            if "token" in given or {"clientCertificateData", "clientKeyData"} <= given:
                return dict(status)
            problem = "returned neither a token nor a certificate with its key"
        raise errors.CredentialError(f"{self._where}: the credential plugin `{command}` {problem}")


class KubeconfigSource:
    """The credentials of a kubeconfig's user."""

    def __init__(self, loader: KubeconfigLoader, where: str) -> None:
        """Use `loader`, which must have loaded a credential; `where` prefixes error messages."""
        self._loader = loader
        self._where = where
        self._certificate = b""
        self._key = b""

    def __repr__(self) -> str:
        """Return a description that contains the kubeconfig's path but no secret."""
        return f"KubeconfigSource({self._where!r})"

    async def load(self, *, is_rejected: bool) -> credentials.Credential:
        """Return the credential, renewed from the plugin, provider or token file if necessary.

        Raises:
            KubeconfigError, CredentialError: there is no usable credential.
        """
        if is_rejected:
            self._loader.forget_exec_credential()
        try:
            await self._loader.load_credential()
            return self.make_current_credential()
        except SPOILED as error:
            raise errors.CredentialError(
                f"{self._where}: {describe_error_without_secrets(error)}"
            ) from None

    def make_current_credential(self) -> credentials.Credential:
        """Return the loader's current credential.

        Raises:
            KubeconfigError: the token contains characters that a header must not contain.
        """
        token = str(getattr(self._loader, "token", ""))
        self._read_certificate()
        return credentials.Credential(
            authorization=credentials.make_authorization_header(token, self._where),
            certificate=self._certificate,
            key=self._key,
        )

    def _read_certificate(self) -> None:
        """Use the plugin's certificate, or else the certificate in the user's files.

        `kubernetes.aio` writes certificates embedded in the kubeconfig to files only while loading
        it; afterwards the content read earlier stays in use.
        """
        if self._loader.exec_certificate:
            self._certificate = self._loader.exec_certificate
            self._key = self._loader.exec_key
            return
        certificate = getattr(self._loader, "cert_file", None)
        key = getattr(self._loader, "key_file", None)
        if certificate and key and pathlib.Path(certificate).exists():
            self._certificate = pathlib.Path(certificate).read_bytes()
            self._key = pathlib.Path(key).read_bytes()


class ServiceAccountSource:
    """The service account token, which the kubelet keeps fresh in a file."""

    def __init__(self, token_file: pathlib.Path) -> None:
        self._token_file = token_file

    def __repr__(self) -> str:
        """Return a description that contains the file's path but no secret."""
        return f"ServiceAccountSource({str(self._token_file)!r})"

    async def load(self, *, is_rejected: bool) -> credentials.Credential:
        """Return the file's current token.

        Raises:
            KubeconfigError: the file cannot be read or is empty.
        """
        where = str(self._token_file)
        try:
            token = self._token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise errors.KubeconfigError(where, "cannot be read") from error
        if not token:
            raise errors.KubeconfigError(where, "contains no token")
        return credentials.Credential(
            credentials.make_authorization_header(f"Bearer {token}", where)
        )


def describe_error_without_secrets(error: Exception) -> str:
    """Return an exception's message without any quoted user entry.

    Messages of `kubernetes.aio` quote an entry's path and its whole content, including the token.
    """
    if isinstance(error, binascii.Error):
        return "embedded certificate data is not base64"
    if isinstance(error, OSError):
        return f"`{error.filename}` cannot be read: {error.strerror}"
    if isinstance(error, AttributeError | KeyError | TypeError):
        return "not a kubeconfig: an entry does not have the expected form"
    text = str(error).split("{", maxsplit=1)[0]
    return text.removesuffix(".").strip() or "not a kubeconfig"


def _parse_expiry(text: str | None) -> datetime.datetime | None:
    if not text:
        return None
    time = datetime.datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
