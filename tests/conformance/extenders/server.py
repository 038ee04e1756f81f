"""The server of scripted extenders: it answers as the script says and notes every request."""

from __future__ import annotations

import dataclasses
import http.server
import json
import socket
import sys
import threading
import types
from collections import Counter
from http import HTTPStatus
from typing import Any

from tests.conformance.extenders import script
from tests.realcluster import http_thread, process

_TYPE = ("apiVersion", "kind")
_HANG_SECONDS = 20
"""When an answer that hangs ends at the latest; `finish` ends it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Exchange:
    """A request and what it was answered.

    Attributes:
        extender: the place of the extender in the configuration.
        body: the request's body, None if it is not JSON.
        reply: the body of the answer; None if the answer is a fault.
    """

    extender: int
    verb: str
    method: str
    content_type: str
    body: Any
    answer: script.Answer
    reply: Any


def located(case: script.Json, url: str) -> script.Json:
    """Return a case whose extenders are on a server."""
    config = case["config"]
    extenders = [{**each, "urlPrefix": url + each["urlPrefix"]} for each in config["extenders"]]
    return {**case, "config": {**config, "extenders": extenders}}


class ExtenderServer(http_thread.HttpThread):
    """All extenders of a case, on one port of this machine; a context manager.

    Attributes:
        url: scheme, host and port.
    """

    def __init__(self) -> None:
        self._http = _HttpServer(("127.0.0.1", process.free_port()), _Handler)
        self._http.script = _RunningScript({"config": {"extenders": []}, "script": []})
        super().__init__(self._http)
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        """Stop."""
        self.finish()
        super().__exit__(error_type, error, traceback)

    def begin(self, case: script.Json) -> None:
        """Answer by the script of a case, which names paths only, from its beginning."""
        self._http.script = _RunningScript(case)

    def finish(self) -> list[Exchange]:
        """End all connections; return what was exchanged since `begin`.

        Raises:
            ExceptionGroup: the script could not answer.
        """
        running = self._http.script
        running.ended.set()
        self._http.close_connections()
        if running.errors:
            raise ExceptionGroup("the script fails", running.errors)
        return list(running.exchanges)


class _RunningScript:
    """The script of one case, and how far it has come."""

    def __init__(self, case: script.Json) -> None:
        self.ended = threading.Event()
        self.exchanges: list[Exchange] = []
        self.errors: list[Exception] = []
        self._nodes = {
            item["metadata"]["name"]: {k: v for k, v in item.items() if k not in _TYPE}
            for item in case.get("cluster", {}).get("items", ())
            if item["kind"] == "Node"
        }
        self._tables = [table for _, table in script.tables(case)]
        self._paths = {
            f"{each['urlPrefix'].rstrip('/')}/{each[field]}": (place, verb)
            for place, (each, _) in enumerate(script.tables(case))
            for verb in script.VERBS
            if (field := f"{verb}Verb") in each
        }
        self._calls: Counter[tuple[int, str, str]] = Counter()
        self._lock = threading.Lock()

    def answer(self, path: str, method: str, content_type: str, body: bytes) -> Exchange | None:
        """Note a request and return it with its answer, None for an unknown path."""
        if path not in self._paths:
            return None
        place, verb = self._paths[path]
        request = json.loads(body)
        name = request["PodName"] if verb == script.BIND else request["Pod"]["metadata"]["name"]
        with self._lock:
            answers = self._tables[place].get(verb, {}).get(name) or [script.ACCEPT]
            answer = answers[min(self._calls[place, verb, name], len(answers) - 1)]
            self._calls[place, verb, name] += 1
            is_fault = not answer.keys().isdisjoint(("status", "body", "hang", "hang_up"))
            reply = None if is_fault else script.write(verb, answer, request, self._nodes)
            made = Exchange(place, verb, method, content_type, request, answer, reply)
            self.exchanges.append(made)
        return made


class _HttpServer(http.server.ThreadingHTTPServer):
    """Knows its connections, so that they do not outlive a case."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.script: _RunningScript
        self._connections: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection."""
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """Close all connections; the client may have done so."""
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep an error of the script; clients leave when they have waited long enough."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.script.errors.append(error)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # header and body in one packet
    server: _HttpServer

    def do_POST(self) -> None:
        """Answer by the script."""
        running = self.server.script
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content_type = self.headers.get("Content-Type", "")
        made = running.answer(self.path, self.command, content_type, body)
        if made is None:
            self._send(HTTPStatus.NOT_FOUND, b"")
        elif "hang_up" in made.answer:
            self.close_connection = True
        elif "hang" in made.answer:
            self._hang(running, made)
        elif made.reply is None:
            text = made.answer.get("body", "out of order")
            self._send(made.answer.get("status", HTTPStatus.OK), text.encode())
        else:
            self._send(HTTPStatus.OK, made.reply)

    def _hang(self, running: _RunningScript, made: Exchange) -> None:
        """Send nothing, or header and half a body, until the case ends."""
        if made.answer["hang"] == "body":
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"{")
            self.wfile.flush()
        running.ended.wait(_HANG_SECONDS)
        self.close_connection = True

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base
        """Log nothing."""
