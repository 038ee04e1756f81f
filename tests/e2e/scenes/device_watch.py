"""Watches all ResourceClaims, and finds devices that two claims have at the same time."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any, Self

import orjson

from tests.e2e.scenes import claimed_devices
from tests.realcluster import api_client

if TYPE_CHECKING:
    from collections.abc import Mapping

    import urllib3

_CLAIMS = f"{claimed_devices.API}/resourceclaims"
_LIMIT_SECONDS = 30.0


class DeviceWatch:
    """Follows every version of every claim in a thread of its own.

    Attributes:
        conflicts: a text for each version of a claim with a device that another claim had.
        allocations: how often a claim got devices.
    """

    def __init__(self, client: api_client.ApiClient) -> None:
        """Watch the claims of all namespaces from now on."""
        self._client = client
        self.conflicts: list[str] = []
        self.allocations = 0
        self._devices: dict[str, frozenset[str]] = {}
        self._stream: urllib3.BaseHTTPResponse | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin to watch."""
        listed = self._client.get(_CLAIMS)
        for claim in listed["items"]:
            self._take("ADDED", claim)
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
        while self._devices != {
            _uid(claim): _list_devices(claim) for claim in self._client.items(_CLAIMS)
        }:
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
                    self._take(change["type"], change["object"])

    def _take(self, kind: str, claim: Mapping[str, Any]) -> None:
        if kind == "ERROR":
            self.conflicts.append(f"the watch ended: {claim}")
            return
        before = self._devices.pop(_uid(claim), frozenset())
        if kind == "DELETED":
            return
        devices = _list_devices(claim)
        self.allocations += bool(devices and not before)
        if before and devices and before != devices:
            self.conflicts.append(f"{_describe(claim)}: other devices without deallocation")
        for other, others in self._devices.items():
            if shared := devices & others:
                self.conflicts.append(f"{_describe(claim)} and {other} have {sorted(shared)}")
        self._devices[_uid(claim)] = devices


def _list_devices(claim: Mapping[str, Any]) -> frozenset[str]:
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results", [])
    return frozenset(f"{one['driver']}/{one['pool']}/{one['device']}" for one in results)


def _uid(claim: Mapping[str, Any]) -> str:
    return str(claim["metadata"]["uid"])


def _describe(claim: Mapping[str, Any]) -> str:
    meta = claim["metadata"]
    return f"{meta['namespace']}/{meta['name']} in version {meta['resourceVersion']}"
