"""Who may see which page: the API server is asked, as kube-scheduler asks it.

1. Whose request is it? A client certificate that the cluster's authority has signed says so itself;
   about a bearer token the API server is asked (TokenReview); who brings neither is anonymous.
2. May they? Some paths are open to everybody. About all others the API server is asked
   (SubjectAccessReview for the path and the verb), so RBAC decides: `nonResourceURLs`.

Answers hold for a few seconds. Where the API server cannot be asked nobody gets in.
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
"""Reviews under way; what further ones there are waits, so nobody can flood the API server here."""

_WARN_SECONDS = 60.0

_ANONYMOUS = access_reviews.AuthenticatedUser(
    "system:anonymous", groups=("system:unauthenticated",)
)
_AUTHENTICATED = "system:authenticated"
_ADMINISTRATORS = "system:masters"
"""They may do everything, whatever RBAC says (Kubernetes documentation, RBAC)."""

_K = TypeVar("_K")
_V = TypeVar("_V")


class RequestReviewer(Protocol):
    """Whom to ask; see `kube.reviews.ApiAccessReviewer`."""

    async def find_token_user(self, token: str) -> access_reviews.AuthenticatedUser | None:
        """Return whose token this is."""
        ...

    async def is_access_allowed(
        self, user: access_reviews.AuthenticatedUser, verb: str, path: str
    ) -> bool:
        """Return whether a user may see a path."""
        ...


class _ExpiringCache(Generic[_K, _V]):
    """Answers that hold for a while; of too many the oldest goes."""

    def __init__(self, clock: clocks.Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._by_key: collections.OrderedDict[_K, tuple[float, _V]] = collections.OrderedDict()

    def find_answer(self, key: _K) -> tuple[_V] | None:
        """Return the answer in a tuple of one, None where there is none."""
        until_seconds, *value = self._by_key.get(key, (0.0,))
        if not value or self._clock.monotonic_seconds() >= until_seconds:
            return None
        return (value[0],)

    def keep_answer(self, key: _K, value: _V) -> None:
        self._by_key.pop(key, None)
        self._by_key[key] = (self._clock.monotonic_seconds() + self._seconds, value)
        if len(self._by_key) > _MAX_KEPT:
            self._by_key.popitem(last=False)


class DelegatedAccess:
    """The guard of the secure port; see `http_server.PageGuard`."""

    def __init__(
        self,
        reviewer: RequestReviewer,
        clock: clocks.Clock,
        *,
        is_anonymous: bool = False,
        always_allowed: Iterable[str] = ALWAYS_ALLOWED,
        token_seconds: float = CACHE_SECONDS,
        answer_seconds: float = CACHE_SECONDS,
    ) -> None:
        """Ask `reviewer`.

        Args:
            reviewer: the API server.
            clock: measures how long answers hold.
            is_anonymous: nobody is asked who they are, all are anonymous.
            always_allowed: paths for everybody; one that ends in `*` means all that begin so.
            token_seconds: how long it holds whose token it is.
            answer_seconds: how long it holds who may see what.
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
        """Return what is answered to who may not see the page, None for who may."""
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
            message = "the API server could not be asked who may see this page; try again later"
            return _make_error_status_page(503, "ServiceUnavailable", message)
        verb = asker.method.lower()
        message = f'forbidden: User "{user.name}" cannot {verb} path "{asker.path}"'
        return _make_error_status_page(403, "Forbidden", message)

    def _warn_of_review_failure(self, error: errors.RemoteError) -> None:
        """Tell why nobody gets in, once a minute: anybody can ask as often as they like."""
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds >= self._warn_after_seconds:
            self._warn_after_seconds = now_seconds + _WARN_SECONDS
            _log.warning("nobody gets in, for the API server cannot be asked: %s", error)

    async def _find_user(
        self, asker: http_server.PageRequest
    ) -> access_reviews.AuthenticatedUser | None:
        """Return who asks, None for a token that is nobody's, or a certificate that has expired."""
        if self._is_anonymous:
            return _ANONYMOUS
        if asker.certificate is not None:
            if _has_certificate_expired(asker.certificate, self._clock.now().timestamp()):
                return None  # since the handshake: connections may be kept for long
            user = _parse_certificate_user(asker.certificate)
            if user is not None:
                return user
        token = _parse_bearer_token(asker.authorization)
        if not token:
            return _ANONYMOUS
        key = hashlib.sha256(token.encode()).digest()  # tokens are not kept
        async with self._turns:
            found = self._users.find_answer(key)
            if found is None:
                found = (await self._reviewer.find_token_user(token),)
                self._users.keep_answer(key, found[0])
        return found[0]

    async def _is_allowed(
        self, user: access_reviews.AuthenticatedUser, verb: str, path: str
    ) -> bool:
        if _ADMINISTRATORS in user.groups:
            return True
        key = (user, verb, path)
        async with self._turns:
            found = self._answers.find_answer(key)
            if found is None:
                found = (await self._reviewer.is_access_allowed(user, verb, path),)
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
    """Return whom a certificate names (`request/x509`, CommonNameUserConversion)."""
    pairs = [pair for rdn in certificate.get("subject", ()) for pair in rdn]
    names = [value for kind, value in pairs if kind == "commonName"]
    if not names or not names[-1]:
        return None
    groups = tuple(value for kind, value in pairs if kind == "organizationName")
    return access_reviews.AuthenticatedUser(names[-1], groups=(*groups, _AUTHENTICATED))


def _make_error_status_page(status: int, reason: str, message: str) -> http_server.HttpPage:
    """Return a v1 Status, as the API server answers with."""
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
