"""A plain client of the API server for tests: JSON in, JSON out, many requests at once.

It shares no code with policysched, so what it reads is an independent witness.
"""

from __future__ import annotations

import collections
import concurrent.futures
import pathlib
import urllib.parse
from typing import TYPE_CHECKING, Any

import orjson
import urllib3

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WORKERS = 16
_PAGE_SIZE = 1000
_TIMEOUT_SECONDS = 30.0

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

TransportError = urllib3.exceptions.HTTPError
"""What a request raises that got no answer."""


class ApiError(Exception):
    """An answer other than 2xx.

    Attributes:
        status: the HTTP status.
        reason: the `reason` of the Status object, such as `Forbidden` or `AlreadyExists`.
    """

    def __init__(self, request: str, status: int, body: bytes) -> None:
        answer = body.decode(errors="replace")
        super().__init__(f"{request}: {status}: {answer}")
        self.status = status
        try:
            self.reason = str(orjson.loads(body).get("reason", ""))
        except (ValueError, AttributeError):
            self.reason = ""


class ApiClient:
    """Requests to one API server as one user; safe to use from several threads."""

    def __init__(self, server: str, *, token: str, ca_file: pathlib.Path) -> None:
        self.server = server
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON}
        self._pool = urllib3.PoolManager(
            maxsize=_WORKERS,
            ca_certs=str(ca_file),
            timeout=urllib3.Timeout(total=_TIMEOUT_SECONDS),
            retries=False,
        )

    def raw(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the body of the answer.

        Raises:
            ApiError: the answer is not 2xx.
        """
        request = f"{method} {path}"
        if query:
            path = f"{path}?{urllib.parse.urlencode(query)}"
        answer = self._pool.request(
            method,
            self.server + path,
            body=None if body is None else orjson.dumps(body),
            headers=self._headers | {"Content-Type": content_type},
        )
        if not 200 <= answer.status < 300:
            raise ApiError(request, answer.status, answer.data)
        return answer.data

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Return the object at `path`."""
        return _object(self.raw("GET", path, query=query))

    def open(self, path: str, **query: str) -> urllib3.BaseHTTPResponse:
        """Return an answer whose body is still to come, such as a watch; end it with `shutdown`.

        Raises:
            ApiError: the answer is not 2xx.
        """
        answer = self._pool.request(
            "GET",
            self.server + path,
            fields=query,
            headers=self._headers,
            timeout=urllib3.Timeout(connect=_TIMEOUT_SECONDS, read=None),
            preload_content=False,
        )
        if not 200 <= answer.status < 300:
            raise ApiError(f"GET {path}", answer.status, answer.data)
        return answer

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Return all items of the list at `path`, page by page."""
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            page = self.get(path, **query, limit=str(_PAGE_SIZE), **{"continue": token})
            found += page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                return found

    def create(self, path: str, body: object) -> dict[str, Any]:
        """Create an object in the collection at `path` and return what the server made of it."""
        return _object(self.raw("POST", path, body))

    def patch(self, path: str, body: object, content_type: str = MERGE_PATCH) -> dict[str, Any]:
        """Patch the object at `path`."""
        return _object(self.raw("PATCH", path, body, content_type=content_type))

    def delete(self, path: str, *, grace_seconds: int = 0) -> None:
        """Delete the object, or all objects of the collection, at `path`."""
        self.raw("DELETE", path, query={"gracePeriodSeconds": str(grace_seconds)})

    def create_many(self, path: str, objects: Iterable[object]) -> None:
        """Create objects in the collection at `path`, several at a time, in no certain order.

        Raises:
            ApiError: one of them was refused; the others may or may not have been created.
        """
        with concurrent.futures.ThreadPoolExecutor(_WORKERS) as pool:
            collections.deque(pool.map(lambda one: self.raw("POST", path, one), objects), maxlen=0)

    def create_nodes(self, nodes: Iterable[object]) -> None:
        """Create nodes, several at a time."""
        self.create_many("/api/v1/nodes", nodes)

    def create_pods(self, namespace: str, pods: Iterable[object]) -> None:
        """Create pods in one namespace, several at a time."""
        self.create_many(f"/api/v1/namespaces/{namespace}/pods", pods)

    def create_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        """Create a namespace."""
        self.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels or {}}})

    def nodes(self) -> list[dict[str, Any]]:
        """Return all nodes."""
        return self.items("/api/v1/nodes")

    def pods(self, namespace: str | None = None) -> list[dict[str, Any]]:
        """Return the pods of one namespace, or of all."""
        return self.items(f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods")

    def pod(self, namespace: str, name: str) -> dict[str, Any]:
        """Return one pod."""
        return self.get(f"/api/v1/namespaces/{namespace}/pods/{name}")


def _object(body: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = orjson.loads(body)
    return decoded
