"""An HTTP extender that prefers one node, and binds pods by the API server."""

from __future__ import annotations

import http.server
import json
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tests.realcluster import http_thread, process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.realcluster import api_client

LABEL = "example.com/rack"
"""The extender rejects nodes without this label; its value, a digit, is the score."""


class RackExtender(http_thread.HttpThread):
    """Filters and scores nodes by a label, and binds pods.

    Attributes:
        url: where it is.
        requests: (verb, body) of all requests.
        is_broken: whether it answers with 500.
        may_answer: while it is not set, requests wait.
    """

    def __init__(self, client: api_client.ApiClient) -> None:
        """Bind pods through `client`."""
        self.requests: list[tuple[str, Any]] = []
        self.is_broken = False
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._client = client
        port = process.free_port()
        self.url = f"http://127.0.0.1:{port}/racks"
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.extender = self
        super().__init__(self._server)

    def list_bodies(self, verb: str) -> list[Any]:
        """Return the bodies of the requests for a verb."""
        return [body for asked, body in self.requests if asked == verb]

    def answer(self, verb: str, body: Mapping[str, Any]) -> object:
        """Answer a request."""
        self.requests.append((verb, body))
        self.may_answer.wait()
        if verb == "bind":
            return self._bind(body)
        racks = {node["metadata"]["name"]: _get_rack(node) for node in body["Nodes"]["items"]}
        if verb == "prioritize":
            return [{"Host": name, "Score": int(rack)} for name, rack in racks.items()]
        return {
            "Nodes": {"items": [node for node in body["Nodes"]["items"] if _get_rack(node)]},
            "FailedNodes": {name: "no rack" for name, rack in racks.items() if not rack},
        }

    def _bind(self, body: Mapping[str, Any]) -> object:
        namespace, name = body["PodNamespace"], body["PodName"]
        binding = {
            "metadata": {"name": name, "uid": body["PodUID"]},
            "target": {"kind": "Node", "name": body["Node"]},
        }
        self._client.create(f"/api/v1/namespaces/{namespace}/pods/{name}/binding", binding)
        return {"Error": ""}


def _get_rack(node: Mapping[str, Any]) -> str:
    labels: Mapping[str, str] = node["metadata"].get("labels", {})
    return labels.get(LABEL, "")


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    extender: RackExtender


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        """Answer a request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        extender = self.server.extender
        if extender.is_broken:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, b"")
        else:
            answer = extender.answer(self.path.rpartition("/")[2], body)
            self._send(HTTPStatus.OK, json.dumps(answer).encode())

    def _send(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base
        """Log nothing."""
