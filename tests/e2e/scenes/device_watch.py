"""Watches all ResourceClaims, and finds devices that two claims have at the same time."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Self

import orjson

from tests.e2e.checker import device_owners
from tests.e2e.scenes import claimed_devices
from tests.realcluster import api_client

if TYPE_CHECKING:
    import urllib3

_CLAIMS = f"{claimed_devices.API}/resourceclaims"
_LIMIT_SECONDS = 30.0


class DeviceWatch:
    """Follows every version of every claim in a thread of its own.

    Attributes:
        owners: what it has found.
    """

    def __init__(self, client: api_client.ApiClient) -> None:
        """Watch the claims of all namespaces from now on."""
        self._client = client
        self.owners = device_owners.DeviceOwners()
        self._stream: urllib3.BaseHTTPResponse | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin to watch."""
        listed = self._client.get(_CLAIMS)
        for claim in listed["items"]:
            self.owners.take("ADDED", claim)
        version = listed["metadata"]["resourceVersion"]
        self._stream = self._client.open(_CLAIMS, watch="1", resourceVersion=version)
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Wait until the newest versions have been seen, unless the test failed; end the watch."""
        try:
            if kind is None:
                self._catch_up()
        finally:
            if self._stream is not None:
                with contextlib.suppress(RuntimeError):  # the server has ended it
                    self._stream.shutdown()
            self._thread.join()

    def _catch_up(self) -> None:
        deadline = time.monotonic() + _LIMIT_SECONDS
        while not self.owners.has_newest(self._client.items(_CLAIMS)):
            assert time.monotonic() < deadline, "the watch of claims has fallen behind"
            time.sleep(0.05)

    def _run(self) -> None:
        assert self._stream is not None
        rest = b""
        with contextlib.suppress(api_client.TransportError), contextlib.closing(self._stream):
            for chunk in self._stream.stream(amt=None):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in filter(None, lines):
                    change = orjson.loads(line)
                    if change["type"] == "ERROR":  # then `_catch_up` fails
                        return
                    self.owners.take(change["type"], change["object"])
