"""An admission webhook that refuses writes: the first one of each kind, with a conflict, or others.

To policysched that looks as if somebody else had been faster, which no test could time.
"""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any, Self

import trustme

from tests.realcluster import process

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.realcluster import api_client

    StatusFor = Callable[[dict[str, Any]], Mapping[str, Any] | None]

_PATH = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_NAME = "objector.policysched.test"
_PROBE = "configmaps"
_LIMIT_SECONDS = 60.0
CONFLICT: Mapping[str, Any] = {
    "code": 409,
    "reason": "Conflict",
    "message": "somebody was faster",
}
WRITES = (
    ("pods/binding", "CREATE"),
    ("pods/status", "UPDATE"),
    ("persistentvolumes", "UPDATE"),
    ("persistentvolumeclaims", "UPDATE"),
    ("resourceclaims/status", "UPDATE"),
)


class Objector:
    """Objects to writes that `user` makes, once to each kind of them unless it is told otherwise.

    Attributes:
        objected: to what it did.
    """

    def __init__(
        self,
        client: api_client.ApiClient,
        user: str,
        writes: Sequence[tuple[str, str]] = WRITES,
        *,
        group_version: tuple[str, str] = ("*", "v1"),
        status_for: StatusFor | None = None,
    ) -> None:
        """Prepare.

        Args:
            client: of somebody who may tell the API server of webhooks.
            user: whose writes may be refused.
            writes: resources with subresource, and operations.
            group_version: what these are of, `*` for all.
            status_for: returns with what an AdmissionRequest is refused, None where it is not; None
                for CONFLICT the first time.
        """
        self.objected: set[tuple[str, str]] = set()
        self._writes = tuple(writes)
        self._group_version = group_version
        self._status_for = status_for or self._first_time
        self._client = client
        self._user = user
        self._is_asked = threading.Event()
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", process.free_port()), self._handler()
        )
        self._ca = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert("127.0.0.1").configure_cert(context)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        """Serve, and tell the API server."""
        self._thread.start()
        port = self._server.server_address[1]
        webhook = {
            "name": _NAME,
            "clientConfig": {
                "url": f"https://127.0.0.1:{port}/",
                "caBundle": base64.b64encode(self._ca.cert_pem.bytes()).decode(),
            },
            "rules": [
                *(_rule(self._group_version, *write) for write in self._writes),
                _rule(("", "v1"), _PROBE, "CREATE"),
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        self._client.create(_PATH, {"metadata": {"name": _NAME}, "webhooks": [webhook]})
        deadline = time.monotonic() + _LIMIT_SECONDS
        while not self._is_asked.wait(0.1):  # the API server learns of webhooks by a watch
            assert time.monotonic() < deadline
            probe = {"metadata": {"generateName": "probe-"}}
            self._client.create(f"/api/v1/namespaces/default/{_PROBE}?dryRun=All", probe)
        return self

    def __exit__(self, *_: object) -> None:
        """End both."""
        self._client.delete(f"{_PATH}/{_NAME}")
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self._is_asked.set()
        write = write_of(request)
        if write not in self._writes or request["userInfo"]["username"] != self._user:
            return {"uid": request["uid"], "allowed": True}
        with self._lock:
            status = self._status_for(request)
            if status is not None:
                self.objected.add(write)
        if status is None:
            return {"uid": request["uid"], "allowed": True}
        return {"uid": request["uid"], "allowed": False, "status": status}

    def _first_time(self, request: dict[str, Any]) -> Mapping[str, Any] | None:
        return None if write_of(request) in self.objected else CONFLICT

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                review = json.loads(self.rfile.read(length))
                body = json.dumps(
                    {
                        "apiVersion": "admission.k8s.io/v1",
                        "kind": "AdmissionReview",
                        "response": answer(review["request"]),
                    }
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def write_of(request: dict[str, Any]) -> tuple[str, str]:
    """Return resource, with subresource, and operation of an AdmissionRequest."""
    resource = request["resource"]["resource"]
    if request.get("subResource"):
        resource += "/" + request["subResource"]
    return resource, request["operation"]


def _rule(group_version: tuple[str, str], resource: str, operation: str) -> dict[str, Any]:
    group, version = group_version
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": [operation],
        "resources": [resource],
    }
