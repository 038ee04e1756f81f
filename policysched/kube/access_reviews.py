"""Delegate authentication and authorization of users to the API server.

Aggregated API servers do the same.

Sources: TokenReview (authentication.k8s.io/v1), SubjectAccessReview (authorization.k8s.io/v1), the
ConfigMap `extension-apiserver-authentication`, in which kube-apiserver publishes its client
certificate authorities.

A review is a POST that changes nothing. Standby processes also send reviews, so the client must
have no write fence.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from policysched.cluster.objects import wire
from policysched.kube import errors
from policysched.kube.http import client

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
AUTHORITY = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_AUTHORITY_KEY = "client-ca-file"

_POLICY = client.CallRetryPolicy(timeout_seconds=5.0, max_attempts=2)
"""The timeout is short because a caller waits for the answer and can send its request again."""


@dataclasses.dataclass(frozen=True, slots=True)
class AuthenticatedUser:
    """A user authenticated by the API server or by a certificate authority that it trusts.

    Attributes:
        name, uid, groups: the user's identity as RBAC sees it.
        extra: pairs of a name and its values, ordered by name; authorizers can use them.
    """

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class _UserInfo(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = ()
    extra: Mapping[str, tuple[str, ...]] | None = None


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _UserInfo = _UserInfo()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    denied: bool = False


class _AccessReview(msgspec.Struct, frozen=True):
    status: _AccessStatus = _AccessStatus()


class _ConfigMap(msgspec.Struct, frozen=True):
    data: Mapping[str, str] | None = None


_T = TypeVar("_T")


class ApiAccessReviewer:
    """Sends token reviews and access reviews to one API server."""

    def __init__(self, api: client.ApiClient) -> None:
        """Send reviews through `api`, which must have no write fence."""
        self._api = api

    async def find_token_user(self, token: str) -> AuthenticatedUser | None:
        """Return the user of a bearer token, or None if the token is not valid.

        Raises:
            KubeError: the API server did not answer, or refused the review.
        """
        content = _make_review("authentication.k8s.io/v1", "TokenReview", {"token": token})
        body = await self._api.send_request("POST", TOKEN_REVIEWS, content, policy=_POLICY)
        status = _decode_review(body, _TokenReview).status
        user = status.user
        if not status.authenticated or not user.username:
            return None
        extra = tuple(sorted((user.extra or {}).items()))
        return AuthenticatedUser(user.username, user.uid, tuple(user.groups or ()), extra)

    async def is_user_allowed(self, user: AuthenticatedUser, verb: str, path: str) -> bool:
        """Return whether `user` may use `verb`, such as `get`, on a path of this server.

        Raises:
            KubeError: the API server did not answer, or refused the review.
        """
        spec = {
            "user": user.name,
            "uid": user.uid,
            "groups": user.groups,
            "extra": dict(user.extra),
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        content = _make_review("authorization.k8s.io/v1", "SubjectAccessReview", spec)
        body = await self._api.send_request("POST", ACCESS_REVIEWS, content, policy=_POLICY)
        status = _decode_review(body, _AccessReview).status
        return status.allowed and not status.denied

    async def read_client_ca_certificates(self) -> str:
        """Return the PEM certificates of the authorities for client certificates; "" if none.

        Raises:
            KubeError: the API server did not answer, or refused the request.
        """
        try:
            body = await self._api.send_request("GET", AUTHORITY, policy=_POLICY)
        except errors.NotFoundError:
            return ""
        return (_decode_review(body, _ConfigMap).data or {}).get(_AUTHORITY_KEY, "")


def _make_review(api_version: str, kind: str, spec: object) -> bytes:
    return msgspec.json.encode({"apiVersion": api_version, "kind": kind, "spec": spec})


def _decode_review(body: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except wire.UNREADABLE as error:
        raise errors.UndecodableAnswerError(
            f"an answer to a review cannot be read: {error}"
        ) from error
