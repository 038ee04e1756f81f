"""Delegate access control of pages to the API server, as in kube-scheduler.

1. Authentication: a client certificate signed by the cluster's authority names its user; the API
   server reviews a bearer token (TokenReview); a request with neither is anonymous.
2. Authorization: some paths are open to all users. For all other paths, the API server reviews the
   path and the verb (SubjectAccessReview), so RBAC rules for `nonResourceURLs` decide.

Answers are cached for a few seconds. If the API server is unreachable, access is denied.

Source: `apiserver/pkg/authentication/authenticatorfactory/delegating.go` and
`apiserver/pkg/server/options/authorization.go`.
"""

from __future__ import annotations

import asyncio
import collections
import hashlib
import logging
import math
import ssl
from collections.abc import Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import orjson

from policysched import clock as clocks
from policysched import errors
from policysched.kube import access_reviews
from policysched.serving import http_server

_log = logging.getLogger(__name__)

ALWAYS_ALLOWED = ("/healthz", "/readyz", "/livez")
CACHE_SECONDS = 10.0
_MAX_KEPT = 1024
_MAX_AT_ONCE = 4
"""Maximum number of concurrent reviews; a limit keeps clients from flooding the API server."""

_WARN_SECONDS = 60.0

_ANONYMOUS = access_reviews.AuthenticatedUser(
    "system:anonymous", groups=("system:unauthenticated",)
)
_AUTHENTICATED = "system:authenticated"
_ADMINISTRATORS = "system:masters"
"""Group whose members have all rights, regardless of RBAC (Kubernetes documentation, RBAC)."""

_K = TypeVar("_K")
_V = TypeVar("_V")


class AccessReviewer(Protocol):
    """Reviews tokens and rights; see `kube.access_reviews.ApiAccessReviewer`."""

    async def find_token_user(self, token: str) -> access_reviews.AuthenticatedUser | None:
        """Return the user of a token, or None if the token is invalid."""
        ...

    async def is_user_allowed(
        self, user: access_reviews.AuthenticatedUser, verb: str, path: str
    ) -> bool:
        """Return whether `user` may use `verb` on `path`."""
        ...


class _ExpiringCache(Generic[_K, _V]):
    """A cache of answers with an expiry time; if it is full, the oldest answer is dropped."""

    def __init__(self, clock: clocks.Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._by_key: collections.OrderedDict[_K, tuple[float, _V]] = collections.OrderedDict()

    def find_answer(self, key: _K) -> tuple[_V] | None:
        """Return the cached answer in a tuple, because it can be None; None if none is cached."""
        until_seconds, *value = self._by_key.get(key, (0.0,))
        if not value or self._clock.monotonic_seconds() >= until_seconds:
            return None
        return (value[0],)

    def keep_answer(self, key: _K, value: _V) -> None:
        self._by_key.pop(key, None)
        self._by_key[key] = (self._clock.monotonic_seconds() + self._seconds, value)
        if len(self._by_key) > _MAX_KEPT:
            self._by_key.popitem(last=False)


class DelegatedAccessGuard:
    """Guards the secure port with reviews by the API server; see `http_server.PageGuard`."""

    def __init__(
        self,
        reviewer: AccessReviewer,
        clock: clocks.Clock,
        *,
        is_anonymous: bool = False,
        always_allowed: Iterable[str] = ALWAYS_ALLOWED,
        token_seconds: float = CACHE_SECONDS,
        answer_seconds: float = CACHE_SECONDS,
    ) -> None:
        """Create a guard with empty caches.

        Args:
            reviewer: sends reviews to the API server.
            clock: its monotonic time determines the expiry of cached answers.
            is_anonymous: treat all requests as anonymous.
            always_allowed: paths open to all users; a path that ends in `*` is a prefix.
            token_seconds: how long the user of a token is cached.
            answer_seconds: how long the answer for a user, verb and path is cached.
        """
        self._reviewer = reviewer
        self._clock = clock
        self._warn_after_seconds = -math.inf
        self._is_anonymous = is_anonymous
        self._always_allowed = tuple(always_allowed)
        self._users: _ExpiringCache[bytes, access_reviews.AuthenticatedUser | None] = (
            _ExpiringCache(clock, token_seconds)
        )
        self._answers: _ExpiringCache[tuple[access_reviews.AuthenticatedUser, str, str], bool] = (
            _ExpiringCache(clock, answer_seconds)
        )
        self._turns = asyncio.Semaphore(_MAX_AT_ONCE)

    async def find_denial_page(self, asker: http_server.PageRequest) -> http_server.HttpPage | None:
        """Return the error page for a denied request, or None if access is allowed."""
        if any(_does_pattern_cover(pattern, asker.path) for pattern in self._always_allowed):
            return None
        try:
            user = await self._find_user(asker)
            if user is None:
                return _make_error_status_page(401, "Unauthorized", "Unauthorized")
            if await self._is_allowed(user, asker.method.lower(), asker.path):
                return None
        except errors.RemoteError as error:
            self._warn_of_review_failure(error)
            message = "the API server could not authorize this request; try again later"
            return _make_error_status_page(503, "ServiceUnavailable", message)
        verb = asker.method.lower()
        message = f'forbidden: User "{user.name}" cannot {verb} path "{asker.path}"'
        return _make_error_status_page(403, "Forbidden", message)

    def _warn_of_review_failure(self, error: errors.RemoteError) -> None:
        """Log at most once a minute why access is denied, because any client can cause this."""
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds >= self._warn_after_seconds:
            self._warn_after_seconds = now_seconds + _WARN_SECONDS
            _log.warning(
                "denying requests that need a review, because the review failed: %s", error
            )

    async def _find_user(
        self, asker: http_server.PageRequest
    ) -> access_reviews.AuthenticatedUser | None:
        """Return the user, or None for an invalid token or an expired certificate."""
        if self._is_anonymous:
            return _ANONYMOUS
        if asker.certificate is not None:
            if _has_certificate_expired(asker.certificate, self._clock.now().timestamp()):
                return None  # it expired since the handshake: connections can be long-lived
            user = _parse_certificate_user(asker.certificate)
            if user is not None:
                return user
        token = _parse_bearer_token(asker.authorization)
        if not token:
            return _ANONYMOUS
        if not token.isascii():
            return None  # RFC 6750 allows no other characters; headers can have any bytes
        key = hashlib.sha256(token.encode()).digest()  # tokens are not stored
        async with self._turns:
            found = self._users.find_answer(key)
            if found is None:
                found = (await self._reviewer.find_token_user(token),)
                self._users.keep_answer(key, found[0])
        return found[0]

    async def _is_allowed(
        self, user: access_reviews.AuthenticatedUser, verb: str, path: str
    ) -> bool:
        """Return whether RBAC permits the request; cache the answer."""
        if _ADMINISTRATORS in user.groups:
            return True
        key = (user, verb, path)
        async with self._turns:
            found = self._answers.find_answer(key)
            if found is None:
                found = (await self._reviewer.is_user_allowed(user, verb, path),)
                self._answers.keep_answer(key, found[0])
        return found[0]


def _does_pattern_cover(pattern: str, path: str) -> bool:
    if pattern.endswith("*"):
        return path.startswith(pattern[:-1])
    return path == pattern


def _parse_bearer_token(authorization: str) -> str:
    scheme, _, token = authorization.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _has_certificate_expired(certificate: Mapping[str, Any], now_seconds: float) -> bool:
    until = certificate.get("notAfter")
    return until is not None and ssl.cert_time_to_seconds(until) < now_seconds


def _parse_certificate_user(
    certificate: Mapping[str, Any],
) -> access_reviews.AuthenticatedUser | None:
    """Return the user named by a certificate (`request/x509`, CommonNameUserConversion)."""
    pairs = [pair for rdn in certificate.get("subject", ()) for pair in rdn]
    names = [value for kind, value in pairs if kind == "commonName"]
    if not names or not names[-1]:
        return None
    groups = tuple(value for kind, value in pairs if kind == "organizationName")
    return access_reviews.AuthenticatedUser(names[-1], groups=(*groups, _AUTHENTICATED))


def _make_error_status_page(status: int, reason: str, message: str) -> http_server.HttpPage:
    """Return an error page with a v1 Status, as the API server does."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": status,
    }
    return http_server.HttpPage(orjson.dumps(body), http_server.JSON, status)
