"""Exceptions of requests to the API server.

    policysched.errors.InputError
    └── KubeconfigError              the server's address or the credentials cannot be read
    policysched.errors.RemoteError
    └── KubeError
        ├── CredentialError          a credential plugin or identity provider gave no credential
        ├── TransportError           no answer: refused, cut off, timed out
        │   ├── CertificateError         the server's certificate is not trusted
        │   └── StalledStreamError       an open stream is silent for too long
        ├── FencedWriteError         this process is not the leader, so nothing was sent
        ├── UndecodableAnswerError   an answer does not have the form that the API specifies
        └── ApiError                 the server refused or failed (a v1 Status)
            ├── UnauthorizedError        401
            ├── ForbiddenError           403
            ├── NotFoundError            404
            ├── ConflictError            409
            ├── ResourceVersionGoneError 410: list again
            ├── TooManyRequestsError     429
            └── ServerError              5xx

Exceptions of aiohttp and of `kubernetes.aio` do not leave this package: callers see the classes
above, with the cause chained.
"""

from __future__ import annotations

import msgspec

from policysched import errors
from policysched.cluster.objects import wire

_RESOURCE_VERSION_TOO_LARGE = "ResourceVersionTooLarge"
"""metav1.CauseTypeResourceVersionTooLarge: the server's state is older than the version."""

_MAX_TEXT_LENGTH = 500


class KubeconfigError(errors.InputError):
    """A kubeconfig, context, certificate or service account cannot be used."""


class KubeError(errors.RemoteError):
    """A failure of a request to the API server."""


class CredentialError(KubeError):
    """A credential plugin or identity provider did not return a credential."""


class TransportError(KubeError):
    """The server did not answer.

    Attributes:
        may_have_arrived: whether the server may have acted on the request.
    """

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived


class CertificateError(TransportError):
    """The server's certificate is not from a trusted authority, or is for another host name."""


class StalledStreamError(TransportError):
    """A stream received no data for too long; it may be idle or dead."""


class FencedWriteError(KubeError):
    """A write was not sent, because another process may hold the leader's lease."""


class UndecodableAnswerError(KubeError):
    """An answer does not have the form that the API specifies."""


class ApiError(KubeError):
    """The API server answered with a failure.

    Attributes:
        status_code: the HTTP status.
        reason: a machine-readable word, such as `AlreadyExists` (metav1.StatusReason).
        message: a sentence for human readers.
        retry_after_seconds: the pause that the server requests, or None.
        causes: additional machine-readable words, such as `NamespaceTerminating`.
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
    """403: RBAC or admission does not allow the request."""


class NotFoundError(ApiError):
    """404: the object does not exist."""


class ConflictError(ApiError):
    """409: the object is not in the state that the request expects."""


class ResourceVersionGoneError(ApiError):
    """The server no longer has the resource version (410), or was restored to an older state."""


class TooManyRequestsError(ApiError):
    """429: the server did not process the request, which can be sent again later."""


class ServerError(ApiError):
    """5xx: the server failed; it is unknown whether it acted on the request."""


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
    """Return the exception that corresponds to a Status."""
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
    """Return the exception for an HTTP answer whose status is not 2xx.

    Args:
        status_code: a status other than 2xx.
        body: a Status in JSON; any other content, such as a proxy's page, is shortened and quoted.
        retry_after: the `Retry-After` header, used only if it is a number of seconds.
    """
    try:
        status = _status_decoder.decode(body)
    except wire.UNREADABLE:
        text = body[:_MAX_TEXT_LENGTH].decode(errors="replace").strip()
        status = ApiStatus(message=text or "no explanation")
    status = ApiStatus(status_code, status.reason, status.message, status.details)
    return from_status(status, _parse_retry_after(retry_after))


def _parse_retry_after(retry_after: str | None) -> float | None:
    """Return the seconds in the header; API servers do not use its other form, a date."""
    if retry_after is None or not retry_after.strip().isdecimal():
        return None
    return float(retry_after)
