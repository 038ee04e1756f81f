"""Renews the ID token of a kubeconfig's `oidc` auth provider.

The exchange is that of `kubernetes.aio`, which however talks to the identity provider without
verifying its certificate and reads only part of all tokens (base64 instead of base64url). Here the
certificate is always verified, against `idp-certificate-authority` or the system's authorities.
"""

from __future__ import annotations

import base64
import datetime
import ssl
from collections.abc import MutableMapping

import aiohttp
import msgspec
from kubernetes.aio.config import config_exception, openid

from policysched.kube import errors

EXPIRY_MARGIN = datetime.timedelta(minutes=2)
"""Longer than the time between two renewals, so that no request goes out with an expired token."""


class _Claims(msgspec.Struct):
    exp: float = 0.0


class _Requestor(openid.OpenIDRequestor):
    """Exchanges a refresh token for an ID token over a verified connection."""

    def __init__(self, config: MutableMapping[str, str], trust: ssl.SSLContext) -> None:
        super().__init__(  # type: ignore[no-untyped-call]  # the package has no types
            config["client-id"], config.get("client-secret", ""), config["idp-issuer-url"]
        )
        self._trust = trust

    def _get_connector(self) -> aiohttp.TCPConnector:
        return aiohttp.TCPConnector(ssl=self._trust)


async def renew(config: MutableMapping[str, str], now: datetime.datetime) -> None:
    """Put a valid `id-token` (and the newest `refresh-token`) into `config`, if it has none.

    Args:
        config: `auth-provider.config` of a kubeconfig's user.
        now: the time.

    Raises:
        CredentialError: the provider refused, or there is no refresh token.
        aiohttp.ClientError: the provider did not answer.
    """
    id_token = config.get("id-token", "")
    if id_token and now < _expiry(id_token) - EXPIRY_MARGIN:
        return
    if "refresh-token" not in config:
        raise errors.CredentialError("the oidc id-token has expired, there is no refresh-token")
    requestor = _Requestor(config, _trust(config))
    try:
        answer = await requestor.refresh_token(config["refresh-token"])  # type: ignore[no-untyped-call]  # as above
    except config_exception.ConfigException as error:
        raise errors.CredentialError(f"the identity provider refused: {error}") from error
    if not isinstance(answer, dict) or "id_token" not in answer:
        raise errors.CredentialError("the identity provider answered without an id_token")
    config["id-token"] = answer["id_token"]
    config["refresh-token"] = answer.get("refresh_token", config["refresh-token"])


def _expiry(id_token: str) -> datetime.datetime:
    """Return when a JWT expires; far in the future where it does not say."""
    parts = id_token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 - header, claims, signature (RFC 7519)
        raise errors.CredentialError("the oidc id-token is not a JSON web token")
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        claims = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Claims)
    except (ValueError, msgspec.DecodeError):
        raise errors.CredentialError("the oidc id-token is not a JSON web token") from None
    if not claims.exp:
        return datetime.datetime.max.replace(tzinfo=datetime.UTC)
    return datetime.datetime.fromtimestamp(claims.exp, datetime.UTC)


def _trust(config: MutableMapping[str, str]) -> ssl.SSLContext:
    data = config.get("idp-certificate-authority-data")
    try:
        return ssl.create_default_context(
            cafile=config.get("idp-certificate-authority"),
            cadata=base64.b64decode(data).decode() if data else None,
        )
    except (OSError, ValueError) as error:  # SSL errors are OSErrors
        raise errors.CredentialError(
            "the identity provider's certificate authority is not a PEM certificate"
        ) from error
