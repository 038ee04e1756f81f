"""The way to an extender, which `http_calls` implements."""

from __future__ import annotations

import math
from typing import Protocol

from policysched import errors


class ExtenderError(errors.RemoteError):
    """An extender did not answer, or answered with an error or something else than expected."""


class GoneError(ExtenderError):
    """An object of a request was deleted in the meantime."""


class NoTimeLeftError(ExtenderError):
    """The time for all calls about a pod ended before the time limit of the extender."""


class ExtenderCaller(Protocol):
    """Sends requests to one extender."""

    async def post(self, verb: str, body: bytes, left_seconds: float = math.inf) -> bytes:
        """Send JSON to `URL_PREFIX/VERB`; return the body of the answer.

        Raises:
            ExtenderError: the extender did not answer within its time limit, or not with 200.
            NoTimeLeftError: it did not answer within `left_seconds`, which are less.
        """
        ...
