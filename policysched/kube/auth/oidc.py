"""Renew the ID token of a kubeconfig's `oidc` auth provider, as kubectl does.

The implementation of `kubernetes.aio` is not used, because it does not verify the identity
provider's certificate and cannot decode all tokens (base64 instead of base64url). This module
always verifies the certificate against `idp-certificate-authority` or the system's authorities.
"""

from __future__ import annotations

import base64
import datetime
import ssl
from collections.abc import MutableMapping

import aiohttp
import msgspec

from policysched.cluster.objects import wire
from policysched.kube import errors

EXPIRY_MARGIN = datetime.timedelta(minutes=2)
"""Longer than the time between two renewals, so that no request is sent with an expired token."""


TIMEOUT_SECONDS = 30.0


class _IdTokenClaims(msgspec.Struct):
    exp: float = 0.0


class _OidcProvider(msgspec.Struct):
    token_endpoint: str


class _TokenResponse(msgspec.Struct):
    id_token: str
    refresh_token: str = ""


async def renew_id_token_if_due(config: MutableMapping[str, str], now: datetime.datetime) -> None:
    """Store new tokens in `config` unless its `id-token` is valid for another EXPIRY_MARGIN.

    The provider always returns an `id-token`, and sometimes a new `refresh-token`.

    Args:
        config: `auth-provider.config` of a kubeconfig's user.
        now: the current time.

    Raises:
        CredentialError: the provider refused or did not answer, or `config` has no refresh token.
    """
    id_token = config.get("id-token", "")
    if id_token and now < _read_token_expiry(id_token) - EXPIRY_MARGIN:
        return
    if "refresh-token" not in config:
        raise errors.CredentialError(
            "the oidc id-token has expired, and the kubeconfig has no refresh-token"
        )
    connector = aiohttp.TCPConnector(ssl=_make_ssl_context(config))
    async with aiohttp.ClientSession(
        connector=connector, timeout=aiohttp.ClientTimeout(TIMEOUT_SECONDS), trust_env=True
    ) as session:
        try:
            tokens = await _exchange_refresh_token(session, config)
        except aiohttp.ClientResponseError as error:
            raise errors.CredentialError(
                f"the identity provider refused: {error.status} {error.message}"
            ) from None
        except (aiohttp.ClientError, TimeoutError) as error:
            raise errors.CredentialError(
                f"the identity provider did not answer: {str(error) or 'in time'}"
            ) from error
        except wire.UNREADABLE as error:
            raise errors.CredentialError(
                f"the identity provider's answer cannot be used: {error}"
            ) from None
    config["id-token"] = tokens.id_token
    config["refresh-token"] = tokens.refresh_token or config["refresh-token"]


async def _exchange_refresh_token(
    session: aiohttp.ClientSession, config: MutableMapping[str, str]
) -> _TokenResponse:
    """Exchange the refresh token for an ID token (OpenID Connect Core 1.0, section 12)."""
    issuer = config["idp-issuer-url"].rstrip("/")
    async with session.get(f"{issuer}/.well-known/openid-configuration") as answer:
        answer.raise_for_status()
        provider = msgspec.json.decode(await answer.read(), type=_OidcProvider)
    client = f"{config['client-id']}:{config.get('client-secret', '')}"
    async with session.post(
        provider.token_endpoint,
        data={"grant_type": "refresh_token", "refresh_token": config["refresh-token"]},
        headers={"Authorization": "Basic " + base64.b64encode(client.encode()).decode()},
        allow_redirects=False,
    ) as answer:
        answer.raise_for_status()
        return msgspec.json.decode(await answer.read(), type=_TokenResponse)


def _read_token_expiry(id_token: str) -> datetime.datetime:
    """Return the expiry time of a JWT, or the latest possible time if it has none."""
    parts = id_token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 - header, claims, signature (RFC 7519)
        raise errors.CredentialError("the oidc id-token is not a JSON web token")
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        claims = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_IdTokenClaims)
    except (ValueError, *wire.UNREADABLE):
        raise errors.CredentialError("the oidc id-token is not a JSON web token") from None
    if not claims.exp:
        return datetime.datetime.max.replace(tzinfo=datetime.UTC)
    return datetime.datetime.fromtimestamp(claims.exp, datetime.UTC)


def _make_ssl_context(config: MutableMapping[str, str]) -> ssl.SSLContext:
    """Return a TLS context that trusts the configured or the system's authorities."""
    data = config.get("idp-certificate-authority-data")
    try:
        return ssl.create_default_context(
            cafile=config.get("idp-certificate-authority"),
            cadata=base64.b64decode(data).decode() if data else None,
        )
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise errors.CredentialError(
            "the identity provider's certificate authority is not a PEM certificate"
        ) from error
