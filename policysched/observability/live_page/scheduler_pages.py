"""The pages below /debug/ of one scheduler, however they are reached."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Protocol

from policysched import errors
from policysched.serving import http_server


class SchedulerAnswerError(errors.RemoteError):
    """The scheduler gave no usable answer; the text is one sentence for the user of the page.

    Attributes:
        is_page_missing: whether the scheduler has no such page, because it is older.
        status: the HTTP status of the answer; 0 without a usable one.
    """

    def __init__(self, message: str, status: int = 0, *, is_page_missing: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.is_page_missing = is_page_missing


class SchedulerPages(Protocol):
    """Reads the pages of one scheduler: this process, or another one over the network."""

    async def read_body(self, path: str, query: Mapping[str, str], wait_seconds: int = 0) -> bytes:
        """Return the page at `path`, which may take `wait_seconds`, as it is.

        Raises:
            SchedulerAnswerError: there is no such page now; the text says why.
        """
        ...


class OwnPages:
    """The pages of this process; see `SchedulerPages`."""

    def __init__(self, pages: Mapping[str, http_server.MakePage]) -> None:
        """Read `pages`, keyed by path, which may be added later."""
        self._pages = pages

    async def read_body(self, path: str, query: Mapping[str, str], _: int = 0) -> bytes:
        """Return the page at `path` as it is; the page itself knows how long it waits.

        Raises:
            SchedulerAnswerError: the page refuses the parameters.
        """
        parameters = http_server.QueryParameters({key: (text,) for key, text in query.items()})
        made = self._pages[path](parameters)
        page = await made if inspect.isawaitable(made) else made
        if page.status != 200:  # noqa: PLR2004 - HTTP: OK
            raise SchedulerAnswerError(page.body.decode().strip(), page.status)
        return page.body
