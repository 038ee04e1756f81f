"""An HTTP server on a loopback port that answers queries with what a test gives it."""

from __future__ import annotations

import base64
import dataclasses
import http.server
import json
import ssl
import threading
import types
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from tests.realcluster import http_thread, process


@dataclasses.dataclass(frozen=True)
class Request:
    """A request as it arrived; `form` is what the query and the body hold."""

    method: str
    path: str
    headers: Mapping[str, str]
    form: Mapping[str, str]

    @property
    def query(self) -> str:
        """The PromQL."""
        return self.form["query"]


@dataclasses.dataclass(frozen=True)
class Answer:
    """What goes back: status, headers, and pieces of the body; None pauses until the end."""

    status: int = 200
    pieces: tuple[bytes | None, ...] = (b"",)
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    content_type: str = "application/json"
    length: int | None = None


def success(result: object, kind: str = "vector", **rest: object) -> Answer:
    """Return an answer with this result."""
    body = {"status": "success", "data": {"resultType": kind, "result": result}, **rest}
    return Answer(pieces=(json.dumps(body).encode(),))


def series(value: object, at_seconds: object = 1000.0, **labels: str) -> dict[str, Any]:
    """Return a series of an instant vector."""
    return {"metric": labels, "value": [at_seconds, value]}


def measured(measured_at_seconds: float, at_seconds: float = 1000.0, **labels: str) -> Any:
    """Return a series that says when samples were measured."""
    return series(str(measured_at_seconds), at_seconds, policysched="measured_at", **labels)


def failure(status: int, kind: str, text: str, **headers: str) -> Answer:
    """Return an error of the API."""
    body = {"status": "error", "errorType": kind, "error": text}
    return Answer(status, (json.dumps(body).encode(),), {k: str(v) for k, v in headers.items()})


class FakePrometheus(http_thread.HttpThread):
    """The server; a context manager.

    Attributes:
        requests: all so far.
        answer: called with each request.
    """

    def __init__(self, answer: Answer | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.answer: Callable[[Request], Answer] = lambda _: answer or success([])
        self.ended = threading.Event()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner._handle(self)

            def do_POST(self) -> None:
                owner._handle(self)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._server = _Server(("127.0.0.1", process.free_port()), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._scheme = "http" if tls is None else "https"
        super().__init__(self._server)

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        """Stop."""
        self.ended.set()
        super().__exit__(kind, error, trace)

    def _handle(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        parts = urllib.parse.urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0)).decode()
        form = dict(urllib.parse.parse_qsl(f"{parts.query}&{body}"))
        request = Request(handler.command, parts.path, dict(handler.headers), form)
        self.requests.append(request)
        self._send(handler, self.answer(request))

    def _send(self, handler: http.server.BaseHTTPRequestHandler, answer: Answer) -> None:
        length = sum(len(piece or b"") for piece in answer.pieces)
        handler.send_response(answer.status)
        handler.send_header("Content-Type", answer.content_type)
        handler.send_header(
            "Content-Length", str(length if answer.length is None else answer.length)
        )
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        try:
            for piece in answer.pieces:
                if piece is None:
                    self.ended.wait()
                else:
                    handler.wfile.write(piece)
                    handler.wfile.flush()
        except OSError:
            pass  # the client has had enough, which is what such tests are about
        if answer.length is not None or None in answer.pieces:
            handler.close_connection = True


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that go away or do not trust us."""


def basic(user: str, password: str) -> str:
    """Return the value of an Authorization header."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
