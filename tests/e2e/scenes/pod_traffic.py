"""An exporter of the requests that bound pods serve, as an ingress controller counts them."""

from __future__ import annotations

import http.server
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.realcluster import http_thread, process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.realcluster import api_client

REQUESTS_PER_SECOND = 20


class PodTraffic(http_thread.HttpThread):
    """Each bound pod serves REQUESTS_PER_SECOND; on some nodes, a share of them fails.

    Attributes:
        address: HOST:PORT to scrape.
    """

    def __init__(
        self, client: api_client.ApiClient, namespace: str, error_shares: Mapping[str, float]
    ) -> None:
        """Let the share `error_shares[NODE]` of the requests fail on a node."""
        self._client = client
        self._namespace = namespace
        self._error_shares = error_shares
        self._first_seen: dict[str, float] = {}
        port = process.free_port()
        self.address = f"127.0.0.1:{port}"
        server = _Server(("127.0.0.1", port), _Handler)
        server.traffic = self
        super().__init__(server)

    def render(self) -> str:
        """Return the counters of all bound pods as text."""
        lines = []
        for pod in self._client.pods(self._namespace):
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName")
            if not node:
                continue
            began = self._first_seen.setdefault(name, time.monotonic())
            requests = REQUESTS_PER_SECOND * (time.monotonic() - began)
            errors = requests * self._error_shares.get(node, 0.0)
            labels = f'{{namespace="{self._namespace}",pod="{name}"}}'
            lines += [
                f"http_requests_total{labels} {requests}",
                f"http_errors_total{labels} {errors}",
            ]
        return "".join(f"{line}\n" for line in lines)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    traffic: PodTraffic


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer a scrape."""
        text = self.server.traffic.render().encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base
        """Log nothing."""
