"""What can go wrong between us and the API server.

    policysched.errors.InputError
    └── KubeconfigError              where the server is, or who we are, cannot be read
    policysched.errors.RemoteError
    └── KubeError
        ├── CredentialError          a credential plugin or identity provider gave no credential
        ├── TransportError           no answer: refused, cut, timed out
        │   ├── CertificateError         the server's certificate is not trusted
        │   └── StalledStreamError       a stream that has begun brings nothing any more
        ├── FencedWriteError         we are not the leader, so nothing was sent
        ├── UndecodableAnswerError   an answer that is not what the API promises
        └── ApiError                 the server says no (a v1 Status)
            ├── UnauthorizedError        401
            ├── ForbiddenError           403
            ├── NotFoundError            404
            ├── ConflictError            409
            ├── ResourceVersionGoneError 410: list again
            ├── TooManyRequestsError     429
            └── ServerError              5xx

Exceptions of aiohttp and of `kubernetes.aio` end in this package: callers see the classes above,
with the cause chained.
"""

from __future__ import annotations

import msgspec

from policysched import errors
from policysched.cluster.objects import wire

_RESOURCE_VERSION_TOO_LARGE = "ResourceVersionTooLarge"
"""metav1.CauseTypeResourceVersionTooLarge: the server is behind what we have seen elsewhere."""

_MAX_TEXT_LENGTH = 500


class KubeconfigError(errors.InputError):
    """A kubeconfig, context, certificate or service account that cannot be used."""


class KubeError(errors.RemoteError):
    """Anything that goes wrong while talking to the API server."""


class CredentialError(KubeError):
    """A credential plugin or identity provider did not give us a credential."""


class TransportError(KubeError):
    """No answer came.

    Attributes:
        may_have_arrived: whether the server may have acted on the request.
    """

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived


class CertificateError(TransportError):
    """The server's certificate is not signed by the authority we trust, or not for its name."""


class StalledStreamError(TransportError):
    """A stream has brought nothing for too long; there may have been nothing, or it is dead."""


class FencedWriteError(KubeError):
    """A write that was not sent, because another process may hold the lease of the leader."""


class UndecodableAnswerError(KubeError):
    """An answer that cannot be decoded."""


class ApiError(KubeError):
    """The API server answered with a failure.

    Attributes:
        status_code: the HTTP status.
        reason: one word for programs, such as `AlreadyExists` (metav1.StatusReason).
        message: one sentence for people.
        retry_after_seconds: how long the server asks us to wait, None if it does not say.
        causes: further words for programs, such as `NamespaceTerminating`.
    """

    def __init__(
        self,
        status_code: int,
        reason: str,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        causes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"the API server answered {status_code} {reason}: {message}")
        self.status_code = status_code
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds
        self.causes = causes


class UnauthorizedError(ApiError):
    """401: the credential is missing, wrong or expired."""


class ForbiddenError(ApiError):
    """403: RBAC or admission does not allow it."""


class NotFoundError(ApiError):
    """404: there is no such object."""


class ConflictError(ApiError):
    """409: the object is not in the state that the request assumes."""


class ResourceVersionGoneError(ApiError):
    """The resource version cannot be served: too old (410) or, on a restored server, too new."""


class TooManyRequestsError(ApiError):
    """429: the server has not looked at the request and wants it later."""


class ServerError(ApiError):
    """5xx: the server failed; whether it acted is not known."""


class StatusCause(msgspec.Struct, frozen=True):
    """`details.causes[]` of a Status."""

    reason: str = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    """`details` of a Status."""

    causes: tuple[StatusCause, ...] | None = ()
    retry_after_seconds: int = 0


class ApiStatus(msgspec.Struct, frozen=True):
    """A v1 Status, the body of failures and of watch events of type ERROR."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


_BY_STATUS_CODE: dict[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ResourceVersionGoneError,
    429: TooManyRequestsError,
}

_status_decoder = msgspec.json.Decoder(ApiStatus)


def from_status(status: ApiStatus, retry_after_seconds: float | None = None) -> ApiError:
    """Return the exception that a Status stands for."""
    details = status.details or StatusDetails()
    kind = _BY_STATUS_CODE.get(status.code)
    causes = tuple(cause.reason for cause in details.causes or ())
    if _RESOURCE_VERSION_TOO_LARGE in causes:
        kind = ResourceVersionGoneError
    if kind is None:
        kind = ServerError if status.code >= 500 else ApiError  # noqa: PLR2004 - HTTP: server errors start here
    wait = retry_after_seconds
    if wait is None and details.retry_after_seconds:
        wait = float(details.retry_after_seconds)
    return kind(status.code, status.reason, status.message, retry_after_seconds=wait, causes=causes)


def from_response(status_code: int, body: bytes, retry_after: str | None) -> ApiError:
    """Return the exception for an HTTP answer that is not 2xx.

    Args:
        status_code: the HTTP status.
        body: a Status in JSON; anything else (a proxy's page) is quoted, shortened.
        retry_after: the header, read where it gives seconds.
    """
    try:
        status = _status_decoder.decode(body)
    except wire.UNREADABLE:
        text = body[:_MAX_TEXT_LENGTH].decode(errors="replace").strip()
        status = ApiStatus(message=text or "no explanation")
    status = ApiStatus(status_code, status.reason, status.message, status.details)
    return from_status(status, _parse_retry_after(retry_after))


def _parse_retry_after(retry_after: str | None) -> float | None:
    """Return the header's seconds; its other form, a date, is not used by API servers."""
    if retry_after is None or not retry_after.strip().isdecimal():
        return None
    return float(retry_after)
