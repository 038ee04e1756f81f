"""Objects that are created, or created and deleted, while pods are scheduled."""

from __future__ import annotations

import threading
from typing import Any, Self

from benchmarks import workload_files
from tests.realcluster import api_client

NAMESPACE = "benchmark-churn"
_COLLECTIONS = {
    "Node": "/api/v1/nodes",
    "Pod": f"/api/v1/namespaces/{NAMESPACE}/pods",
    "Service": f"/api/v1/namespaces/{NAMESPACE}/services",
}


class Churning:
    """Creates, or creates and deletes, the objects of a Churn in a thread; a context manager.

    Attributes:
        turns: number of completed cycles.
        ended: set when the thread has ended, at `__exit__` or because of an error.
    """

    def __init__(
        self, client: api_client.ApiClient, churn: workload_files.Churn | None, scheduler_name: str
    ) -> None:
        """Prepare the objects; without a Churn, none is created.

        Raises:
            workload_files.FileError: an object cannot be created.
        """
        self.turns = 0
        self._client = client
        self._interval_seconds = churn.interval_ms / 1000 if churn else 0.0
        self._is_recreating = churn is not None and churn.mode == "recreate"
        self._objects = [_prepare(body, scheduler_name) for body in churn.objects] if churn else []
        self._created: list[str] = []
        self._error: Exception | None = None
        self._is_stopped = threading.Event()
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Start the thread."""
        if self._interval_seconds:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the thread, and delete the remaining objects."""
        self._is_stopped.set()
        if self._interval_seconds:
            self._thread.join()
        self._delete()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while not self._is_stopped.wait(self._interval_seconds):
                if self._is_recreating:
                    self._delete()
                for collection, body in self._objects:
                    created = self._client.create(collection, body)
                    self._created.append(f"{collection}/{created['metadata']['name']}")
                self.turns += 1
        except (api_client.ApiError, api_client.TransportError) as error:
            self._error = error
        finally:
            self.ended.set()

    def _delete(self) -> None:
        while self._created:
            self._client.delete(self._created.pop())


def check(churn: workload_files.Churn | None) -> None:
    """Check that all objects can be created.

    Raises:
        workload_files.FileError: an object cannot be created.
    """
    for body in churn.objects if churn else ():
        _prepare(body, "")


def _prepare(body: dict[str, Any], scheduler_name: str) -> tuple[str, dict[str, Any]]:
    """Return the collection of an object, and the body of its request."""
    kind = body.get("kind", "")
    if kind not in _COLLECTIONS:
        known = ", ".join(_COLLECTIONS)
        raise workload_files.FileError(f"churn cannot create a `{kind}`, only {known}")
    if kind == "Pod":
        if not isinstance(body.get("spec"), dict):
            raise workload_files.FileError("churn cannot create a `Pod` without a `spec`")
        body = {**body, "spec": {**body["spec"], "schedulerName": scheduler_name}}
    return _COLLECTIONS[kind], body
