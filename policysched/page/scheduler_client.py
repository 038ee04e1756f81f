"""Asks a running scheduler for the pages of a fixed list, without blocking the page's own server.

Errors name what is missing: the token, a right, or a page that an older scheduler lacks.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Mapping

from policysched import errors
from policysched.observability import debug_client
from policysched.observability.live_page import scheduler_pages

_QUICK_THREADS = 4
_WAITING_THREADS = 8
"""Each open Decisions view occupies one while it waits for rows."""
_TIMEOUT_SECONDS = 10.0
"""Limit of the pause before the next byte, and half the limit of an answer, beside its wait."""


class SchedulerClient:
    """Asks one scheduler; equal questions at the same time are one request.

    Therefore neither open views nor a scheduler that hangs can pile up requests.

    Attributes:
        origin: scheme, host and port of its secure port.
    """

    def __init__(self, client: debug_client.DebugClient, token_file: str | None) -> None:
        """Ask through `client`; `token_file` is only for messages."""
        self.origin = client.origin
        self._client = client
        self._token_file = token_file
        self._quick = concurrent.futures.ThreadPoolExecutor(_QUICK_THREADS, "scheduler")
        self._waiting = concurrent.futures.ThreadPoolExecutor(_WAITING_THREADS, "rows")
        self._asking: dict[tuple[str, ...], asyncio.Task[bytes]] = {}

    async def read_body(self, path: str, query: Mapping[str, str], wait_seconds: int = 0) -> bytes:
        """Return the page at `path`, which may take `wait_seconds`, as it is.

        Raises:
            scheduler_pages.SchedulerAnswerError: there is no such page now; the text says why.
        """
        question = (path, *(f"{key}={value}" for key, value in query.items()))
        task = self._asking.get(question)
        if task is None:
            task = asyncio.create_task(self._request_body(path, query, wait_seconds))
            self._asking[question] = task
            task.add_done_callback(lambda done: self._forget(question, done))
        return await asyncio.shield(task)  # others may wait for the same answer

    def _forget(self, question: tuple[str, ...], done: asyncio.Task[bytes]) -> None:
        del self._asking[question]
        if not done.cancelled():
            done.exception()  # asyncio logs an exception that no client has read

    async def _request_body(self, path: str, query: Mapping[str, str], wait_seconds: int) -> bytes:
        threads = self._waiting if wait_seconds else self._quick
        loop = asyncio.get_running_loop()
        timeout_seconds = _TIMEOUT_SECONDS + wait_seconds
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS + timeout_seconds):
                answer = await loop.run_in_executor(
                    threads, self._client.ask, path, query, timeout_seconds
                )
        except (errors.RemoteError, TimeoutError) as error:
            message = f"the scheduler at {self.origin} does not answer; the page asks again"
            raise scheduler_pages.SchedulerAnswerError(message) from error
        except errors.InputError as error:
            raise scheduler_pages.SchedulerAnswerError(str(error)) from error
        if answer.status != debug_client.OK:
            raise scheduler_pages.SchedulerAnswerError(
                self._describe_refusal(path, answer),
                answer.status,
                is_page_missing=answer.status == debug_client.NOT_FOUND,
            )
        return answer.body

    def _describe_refusal(self, path: str, answer: debug_client.DebugAnswer) -> str:
        match answer.status:
            case debug_client.UNAUTHORIZED:
                where = f" to {self._token_file}" if self._token_file else ""
                return (
                    "the scheduler does not accept the token, which may have expired; write a new "
                    f"one{where}, such as `kubectl create token` prints"
                    + ("" if where else ", to a file, and start the page with --token-file")
                )
            case debug_client.FORBIDDEN:
                return (
                    f"the token has no right to read {path}; bind the ClusterRole "
                    "policysched-debug-reader to its user"
                )
            case debug_client.NOT_FOUND:
                return f"this scheduler is older than the page: it has no {path}"
            case debug_client.GONE | debug_client.TOO_MANY:
                return answer.message
            case _:
                described = f"{answer.status} {answer.message}".rstrip()
                return f"the scheduler answered {described} about {path}"

    def close(self) -> None:
        """Forget requests that have not begun; those in progress end with the process."""
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._waiting.shutdown(wait=False, cancel_futures=True)
