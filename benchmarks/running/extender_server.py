"""An HTTP extender in a separate process; it rejects a tenth of the nodes and scores the others."""

from __future__ import annotations

import contextlib
import http.server
import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from multiprocessing import connection
from typing import Any

import orjson

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


@contextlib.contextmanager
def serve_extender() -> Iterator[str]:
    """Yield the URL of an extender in a separate process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        server.join()


def _serve(pipe: connection.Connection) -> None:
    """Serve until the other end of the pipe sends anything or closes."""
    port = process.free_port()
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pipe.send(f"http://127.0.0.1:{port}")
        with contextlib.suppress(EOFError):
            pipe.recv()
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
