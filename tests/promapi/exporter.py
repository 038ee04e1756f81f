"""One process that is the exporter of many nodes."""

from __future__ import annotations

import collections
import http.server
from typing import Any

from tests.realcluster import http_thread, process


class Exporter(http_thread.HttpThread):
    """Serves `/NODE` as the exporter of a node; a context manager.

    Attributes:
        scrapes: node → how often its exporter answered.
        dead: nodes whose exporter answers no more.
    """

    def __init__(self) -> None:
        self.scrapes: collections.Counter[str] = collections.Counter()
        self.dead: set[str] = set()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner._scrape(self)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", process.free_port()), Handler)
        super().__init__(self._server)

    def prometheus_config(self, nodes: dict[str, str], interval: str) -> dict[str, Any]:
        """Return a configuration that scrapes `nodes` (name → value of `instance`)."""
        address = f"127.0.0.1:{self._server.server_address[1]}"
        targets = [
            {"targets": [address], "labels": {"instance": instance, "__metrics_path__": f"/{name}"}}
            for name, instance in nodes.items()
        ]
        job = {"job_name": "nodes", "static_configs": targets}
        return {"global": {"scrape_interval": interval}, "scrape_configs": [job]}

    def _scrape(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        node = handler.path.strip("/")
        if node in self.dead:
            handler.send_error(503)
            return
        self.scrapes[node] += 1
        count = self.scrapes[node]
        busy = "".join(f'busy_seconds_total{{cpu="{cpu}"}} {count * 0.1}\n' for cpu in range(2))
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain; version=0.0.4")
        handler.end_headers()
        text = f"# TYPE load gauge\nload 1\n# TYPE busy_seconds_total counter\n{busy}"
        handler.wfile.write(text.encode())
