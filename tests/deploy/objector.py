"""An admission webhook that answers the first write of each kind with a conflict, and no other.

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

if TYPE_CHECKING:
    from tests.realcluster import api_client

_PATH = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_NAME = "objector.policysched.test"
_PROBE = "configmaps"
_LIMIT_SECONDS = 60.0
WRITES = (
    ("pods/binding", "CREATE"),
    ("pods/status", "UPDATE"),
    ("persistentvolumes", "UPDATE"),
    ("persistentvolumeclaims", "UPDATE"),
)


class Objector:
    """Objects once to each of WRITES that `user` makes.

    Attributes:
        objected: to what it did.
    """

    def __init__(self, client: api_client.ApiClient, user: str) -> None:
        self.objected: set[tuple[str, str]] = set()
        self._client = client
        self._user = user
        self._is_asked = threading.Event()
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
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
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": [operation],
                    "resources": [resource],
                }
                for resource, operation in (*WRITES, (_PROBE, "CREATE"))
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
        resource = request["resource"]["resource"]
        if request.get("subResource"):
            resource += "/" + request["subResource"]
        self._is_asked.set()
        write = (resource, request["operation"])
        if write not in WRITES or request["userInfo"]["username"] != self._user:
            return {"uid": request["uid"], "allowed": True}
        with self._lock:
            is_first = write not in self.objected
            self.objected.add(write)
        if not is_first:
            return {"uid": request["uid"], "allowed": True}
        status = {"code": 409, "reason": "Conflict", "message": "somebody was faster"}
        return {"uid": request["uid"], "allowed": False, "status": status}

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
