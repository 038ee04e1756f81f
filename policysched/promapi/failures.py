"""Why a query brought nothing."""

from __future__ import annotations

import enum

from policysched import errors


class QueryIssue(enum.StrEnum):
    """What is counted, per metric; the texts are stable, for metrics of our own and `explain`.

    Those of answers that are used nevertheless come after those of queries that brought nothing.
    """

    UNREACHABLE = "unreachable"
    """No connection, or it broke."""
    TIMEOUT = "timeout"
    """No complete answer within the time limit."""
    CREDENTIAL = "credential"
    """A credential could not be read, or HTTP 401 or 403."""
    REFUSED = "refused"
    """HTTP 400, 404, 405, 422, …, or `status: error`: the server does not like the query."""
    OVERLOADED = "overloaded"
    """HTTP 429 or 503."""
    SERVER_ERROR = "server_error"
    """Another HTTP 5xx."""
    MALFORMED = "malformed"
    """No JSON, JSON that is cut off, or not what the API promises; also redirects and HTML."""
    TOO_LARGE = "too_large"
    """More bytes than an answer may have."""
    WRONG_TYPE = "wrong_type"
    """A scalar, a string or a matrix, where an instant vector is needed."""

    EMPTY = "empty"
    """A vector without series."""
    PARTIAL = "partial"
    """The server says that it could not ask all of its stores."""
    WARNING = "warning"
    """The answer has warnings."""
    INFO = "info"
    """The answer has annotations of level info."""
    UNUSABLE = "unusable"
    """A series whose value is no number: a native histogram, or nonsense."""
    UNLABELLED = "unlabelled"
    """A series without the label that names the node."""
    UNMATCHED = "unmatched"
    """A series of no known node."""
    AMBIGUOUS = "ambiguous"
    """A series that may be of several nodes."""
    DUPLICATE = "duplicate"
    """A node with two series."""
    NON_FINITE = "non_finite"
    """A node whose value is NaN or infinite."""
    OUT_OF_RANGE = "out_of_range"
    """A node whose value is outside of the metric's `between`."""
    STALE = "stale"
    """A node whose value rests on samples older than maxAge, or of unknown age."""
    UNTIMED = "untimed"
    """An answer without the time of measurement: the time of evaluation stands for it."""


SOURCE_CAUSES = frozenset(
    {
        QueryIssue.UNREACHABLE,
        QueryIssue.TIMEOUT,
        QueryIssue.CREDENTIAL,
        QueryIssue.OVERLOADED,
        QueryIssue.SERVER_ERROR,
        QueryIssue.MALFORMED,
    }
)
"""The server may be at fault rather than the query: it is, once no query succeeds."""


class QueryError(errors.RemoteError):
    """A query that brought no samples.

    Attributes:
        cause: what went wrong.
        retry_after_seconds: when the server wants to be asked again, or None.
        duration_seconds: how long it took to find out.
    """

    def __init__(
        self, cause: QueryIssue, problem: str, *, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(problem)
        self.cause = cause
        self.retry_after_seconds = retry_after_seconds
        self.duration_seconds = 0.0

    @property
    def is_source_at_fault(self) -> bool:
        """Whether the server may be at fault rather than the query."""
        return self.cause in SOURCE_CAUSES
