"""Asks the API server who somebody is and what they may do, as its own front ends do.

Sources: TokenReview (authentication.k8s.io/v1), SubjectAccessReview (authorization.k8s.io/v1), the
ConfigMap `extension-apiserver-authentication` (kube-apiserver publishes there whom it trusts).
A review is a POST that writes nothing, so standbys ask too: give it a client without a fence.
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
"""Somebody waits for the answer: who asks us again later is served better than by patience."""


@dataclasses.dataclass(frozen=True, slots=True)
class AuthenticatedUser:
    """Somebody whom the API server, or an authority that it trusts, vouches for.

    Attributes:
        name, uid, groups: as in RBAC.
        extra: further values that authorizers may look at, by name.
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
    """Reviews by one API server."""

    def __init__(self, api: client.ApiClient) -> None:
        """Ask through `api`, which must have no fence."""
        self._api = api

    async def find_token_user(self, token: str) -> AuthenticatedUser | None:
        """Return whose bearer token this is, None where it is nobody's.

        Raises:
            KubeError: the API server could not be asked, or refuses to be.
        """
        content = _make_review("authentication.k8s.io/v1", "TokenReview", {"token": token})
        body = await self._api.send_request("POST", TOKEN_REVIEWS, content, policy=_POLICY)
        status = _decode_review(body, _TokenReview).status
        user = status.user
        if not status.authenticated or not user.username:
            return None
        extra = tuple(sorted((user.extra or {}).items()))
        return AuthenticatedUser(user.username, user.uid, tuple(user.groups or ()), extra)

    async def is_access_allowed(self, user: AuthenticatedUser, verb: str, path: str) -> bool:
        """Return whether a user may do `verb`, such as `get`, with a path of ours.

        Raises:
            KubeError: the API server could not be asked, or refuses to be.
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
        """Return the certificates, in PEM, that sign those of the cluster's users; "" for none.

        Raises:
            KubeError: the API server could not be asked, or refuses to be.
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
