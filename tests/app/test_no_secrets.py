"""No secret that a process was given stands in what it prints, whatever servers answer."""

from __future__ import annotations

import base64
import dataclasses
import http.server
import itertools
import json
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
import yaml

from policysched import _resources
from tests.realcluster import process

TOKEN, PASSWORD, HEADER, PARAMETER = (
    f"s33d-{what}-0123456789abcdef" for what in ("token", "password", "header", "parameter")
)
SECRETS = (TOKEN, PASSWORD, HEADER, PARAMETER, base64.b64encode(f"me:{PASSWORD}".encode()).decode())
STATUSES = (500, 403, 401, 400, 422, 503, 200, 0)
"""What comes back in turn; 0 cuts the connection."""
ENOUGH_REQUESTS = 40


@dataclasses.dataclass
class Echo:
    """A server that answers each request with an error that holds the request.

    Attributes:
        seen: is set once enough requests came with each secret.
    """

    url: str
    arrived: threading.Event


@pytest.fixture
def echo() -> Iterator[Echo]:
    """Start the server; both the API server and Prometheus are this one."""
    statuses, count = itertools.cycle(STATUSES), itertools.count(1)
    arrived = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            if next(count) == ENOUGH_REQUESTS:
                arrived.set()
            status = next(statuses)
            if not status:
                self.close_connection = True
                return
            said = f"no: {self.path} {dict(self.headers)} {body}"
            answer = {"kind": "Status", "message": said, "error": said, "errorType": "bad_data"}
            encoded = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_POST = do_GET  # noqa: N815 - the name is http.server's

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", process.free_port()), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Echo(f"http://127.0.0.1:{server.server_port}", arrived)
        server.shutdown()
        thread.join()


def _write(path: pathlib.Path, content: object) -> str:
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)


def _files(folder: pathlib.Path, url: str) -> list[str]:
    """Return the options of a process whose files hold all secrets."""
    user = {"name": "u", "user": {"token": TOKEN}}
    kubeconfig = {
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [user],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    source = {
        "url": url,
        "basicAuth": {"username": "me", "password": PASSWORD},
        "headers": {"X-Key": HEADER},
        "queryParams": {"key": PARAMETER},
    }
    configuration = {
        "apiVersion": "policysched.io/v1alpha1",
        "kind": "PolicySchedulerConfiguration",
        "prometheus": {"main": source},
    }
    return [
        *("--kubeconfig", _write(folder / "kubeconfig", kubeconfig)),
        *("--config", _write(folder / "config.yaml", configuration)),
        *("--policies", str(_resources.find_resource_path("policies", "load-aware.policy"))),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "json"])
def test_servers_that_repeat_what_they_were_sent(
    form: str, echo: Echo, tmp_path: pathlib.Path
) -> None:
    """At level debug, in both forms: errors, refusals and broken answers hold no secret."""
    flags = [*_files(tmp_path, echo.url), "--log-level", "debug", "--log-format", form]
    argv = [sys.executable, "-m", "policysched", "run", *flags]
    with subprocess.Popen(
        argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert echo.arrived.wait(timeout=60)
        finally:
            process.send_signal(signal.SIGTERM)
        said = "".join(process.communicate())
    assert "X-Key" in said or "Authorization" in said, said[-2000:]
    assert "(hidden)" in said
    assert [secret for secret in SECRETS if secret in said] == []
    if form == "json":
        assert {"time", "level", "logger", "message"} <= json.loads(said.splitlines()[0]).keys()


@pytest.mark.slow
def test_a_kubeconfig_that_is_wrong_is_not_repeated(tmp_path: pathlib.Path) -> None:
    """Parse errors quote no line of the file, and errors of the process itself are cleaned."""
    path = tmp_path / "kubeconfig"
    path.write_text(f"users:\n- user: {{token: {TOKEN}\nclusters: http://me:{PASSWORD}@x\n")
    argv = [sys.executable, "-m", "policysched", "run", "--kubeconfig", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert [secret for secret in SECRETS if secret in done.stderr] == []
