"""The issues that a query and its answer can have."""

from __future__ import annotations

import enum

from policysched import errors


class QueryIssue(enum.StrEnum):
    """Issues that are counted per metric.

    The texts are stable, because exported metrics and `explain` contain them. Issues of failed
    queries come first; issues of answers that are still used follow.
    """

    UNREACHABLE = "unreachable"
    """The connection failed or broke."""
    TIMEOUT = "timeout"
    """The complete answer did not arrive within the timeout."""
    CREDENTIAL = "credential"
    """A credential could not be read, or the server answered HTTP 401 or 403."""
    REFUSED = "refused"
    """HTTP 400, 404, 405, 422, …, or `status: error`: the server refuses the query."""
    OVERLOADED = "overloaded"
    """HTTP 429 or 503."""
    SERVER_ERROR = "server_error"
    """HTTP 5xx other than 503."""
    MALFORMED = "malformed"
    """No JSON, truncated JSON, or JSON that the API does not define; also redirects and HTML."""
    TOO_LARGE = "too_large"
    """The answer exceeds the limit on bytes, series or values."""
    WRONG_TYPE = "wrong_type"
    """A scalar, a string or a matrix instead of an instant vector."""

    EMPTY = "empty"
    """A vector without series."""
    PARTIAL = "partial"
    """The server reports that some of its stores did not answer."""
    WARNING = "warning"
    """The answer has warnings."""
    INFO = "info"
    """The answer has annotations of level info."""
    UNUSABLE = "unusable"
    """A series whose value is not a number: a native histogram, or an invalid value."""
    UNLABELLED = "unlabelled"
    """A series without the label that names the node."""
    UNMATCHED = "unmatched"
    """A series that matches no known node."""
    AMBIGUOUS = "ambiguous"
    """A series that matches several nodes."""
    DUPLICATE = "duplicate"
    """A node with several series."""
    NON_FINITE = "non_finite"
    """A node whose value is NaN or infinite."""
    OUT_OF_RANGE = "out_of_range"
    """A node whose value is outside the metric's `between`."""
    STALE = "stale"
    """A node whose value is based on samples older than maxAge, or of unknown age."""
    UNTIMED = "untimed"
    """An answer without measurement times: the evaluation time is used instead."""


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
"""Issues that count against the server if no query succeeds, and otherwise against the query."""


class QueryError(errors.RemoteError):
    """A query that returned no usable samples.

    Attributes:
        cause: the issue that is counted for the metric.
        retry_after_seconds: the pause that the server requests, or None.
        duration_seconds: time from sending the query to the failure; `query_source` sets it.
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
        """Whether the server can be at fault, so that the failure counts against the source."""
        return self.cause in SOURCE_CAUSES
