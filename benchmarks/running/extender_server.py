"""An HTTP extender in a separate process; it rejects a tenth of the nodes and scores the others."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Sequence
from http import HTTPStatus
from multiprocessing import connection
from typing import Any

import orjson

from benchmarks.running import server_process
from tests.realcluster import process

_REJECTED_DIGIT = "7"
_HIGHEST_SCORE = 10


def make_configuration(url: str, managed_resources: Sequence[str]) -> dict[str, Any]:
    """Return the configuration of the extender, as both schedulers read it."""
    return {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "nodeCacheCapable": True,
        "managedResources": [{"name": name} for name in managed_resources],
    }


def serve_extender() -> contextlib.AbstractContextManager[str]:
    """Return a context whose value is the URL of an extender in a separate process."""
    return server_process.run_server(_serve)


def _serve(pipe: connection.Connection) -> None:
    port = process.free_port()
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pipe.send(f"http://127.0.0.1:{port}")
        server_process.wait_for_end(pipe)
        server.shutdown()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body in one packet

    def do_POST(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        names = orjson.loads(body)["NodeNames"]
        answer = _filter(names) if self.path == "/filter" else _prioritize(names)
        text = orjson.dumps(answer)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base
        """Log nothing."""


def _filter(names: Sequence[str]) -> dict[str, Any]:
    rejected = {name: "rejected" for name in names if name.endswith(_REJECTED_DIGIT)}
    return {"NodeNames": [name for name in names if name not in rejected], "FailedNodes": rejected}


def _prioritize(names: Sequence[str]) -> list[dict[str, Any]]:
    return [{"Host": name, "Score": int(name[-4:]) % (_HIGHEST_SCORE + 1)} for name in names]
