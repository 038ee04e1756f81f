"""Sizes and durations of the page's answers, asked for as the browser does."""

from __future__ import annotations

import http.client
import statistics
import time
import urllib.parse
from collections.abc import Mapping, Sequence

_TIMEOUT_SECONDS = 120


def measure_answers(url: str, pods: Sequence[str]) -> Mapping[str, float]:
    """Return the figures of the answers about the cluster and about each of `pods`."""
    server = _PageServer(url)
    cluster_bytes, _ = server.ask("cluster")
    explained = [server.ask("explain", pod) for pod in pods]
    studied = [server.ask("study", pod) for pod in pods]
    return {
        "cluster": cluster_bytes / 1000,
        "explain": max(size for size, _ in explained) / 1000,
        "explain-time": statistics.median(seconds for _, seconds in explained),
        "study-time": statistics.median(seconds for _, seconds in studied),
    }


class _PageServer:
    """Asks `policysched ui`."""

    def __init__(self, url: str) -> None:
        address, _, key = url.partition("#key=")
        self._host = urllib.parse.urlsplit(address).netloc
        self._headers = {"Authorization": f"Bearer {key}", "Accept-Encoding": "gzip"}

    def ask(self, question: str, pod: str | None = None) -> tuple[int, float]:
        """Return the bytes on the wire of an answer, without its head, and its seconds."""
        query = "" if pod is None else "?" + urllib.parse.urlencode({"pod": pod})
        connection = http.client.HTTPConnection(self._host, timeout=_TIMEOUT_SECONDS)
        started = time.perf_counter()
        connection.request("GET", f"/api/{question}{query}", headers=self._headers)
        response = connection.getresponse()
        body = response.read()
        seconds = time.perf_counter() - started
        connection.close()
        if response.status != http.HTTPStatus.OK:
            raise SystemExit(f"{question}: {response.status} {body[:200]!r}")
        return len(body), seconds
