"""`explain --decisions`: what a running scheduler has decided."""

from __future__ import annotations

import http.server
import json
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from policysched.cli import main
from tests import report_schemas
from tests.realcluster import process

TOKEN = "s33d-token"
CHOSEN: dict[str, Any] = {
    "pod": "prod/web",
    "uid": "u1",
    "attempt": 2,
    "time": "2026-01-05T12:00:00+00:00",
    "waitedSeconds": 1.25,
    "decidedSeconds": 0.00085,
    "endedSeconds": 0.0124,
    "points": [{"point": "Filter", "code": "Success", "startedSeconds": 0.0, "seconds": 0.0004}],
    "profile": "policysched",
    "policies": ["web", "batch"],
    "policyHash": "3f2a91c0ffee",
    "result": "scheduled",
    "node": "n2",
    "message": "",
    "nodes": 1200,
    "feasible": 1150,
    "prefilter": None,
    "rejections": [
        {
            "plugin": "Policy",
            "code": "UnschedulableAndUnresolvable",
            "reasons": ["node(s) rejected by policy web/too-hot"],
            "policy": "web",
            "rule": "too-hot",
            "line": 9,
            "nodes": 48,
            "examples": ["n7", "n8", "n9"],
        },
        {
            "plugin": "NodeResourcesFit",
            "code": "Unschedulable",
            "reasons": ["Insufficient cpu", "Insufficient memory"],
            "policy": "",
            "rule": "",
            "line": 0,
            "nodes": 2,
            "examples": ["n3", "n4"],
        },
    ],
    "best": ["n2", "n1"],
    "scores": {
        "n2": {"NodeResourcesFit": 86, "web/low-cpu": 61.5, "total": 147.5},
        "n1": {"NodeResourcesFit": 90, "web/low-cpu": 40, "total": 130},
    },
    "nominatedNode": "",
    "victims": [],
    "evidence": [],
}
REJECTED: dict[str, Any] = CHOSEN | {
    "pod": "prod/big",
    "attempt": 1,
    "result": "unschedulable",
    "node": None,
    "message": "0/1200 nodes are available: 1200 Insufficient cpu.",
    "feasible": 0,
    "policies": [],
    "policyHash": "",
    "rejections": [CHOSEN["rejections"][1] | {"reasons": ["Insufficient cpu"], "nodes": 1200}],
    "best": [],
    "scores": {},
    "nominatedNode": "n5",
    "victims": ["prod/a", "prod/b"],
    "evidence": ["web/too-hot (line 9): cpu_busy 91% > 80%"],
    "skipped": ["web/low-cpu", "web/low-disk"],
}
PAGE = {"kept": 2, "limit": 1000, "decisions": [CHOSEN, REJECTED]}
TEXTS = {
    "prod/web": """\
prod/web scheduled to n2 (attempt 2, 2026-01-05T12:00:00+00:00)
  profile policysched: web, batch (3f2a91c0)
  waited 1.2s, decided in 850µs, bound after 12.4ms
  1,150 of 1,200 nodes fit

  NODES  REJECTED BY           REASON                                  WHICH
     48  web/too-hot (line 9)  node(s) rejected by policy web/too-hot  n7, n8, n9 and 45 more
      2  NodeResourcesFit      Insufficient cpu                        n3, n4
      2  NodeResourcesFit      Insufficient memory                     n3, n4

  chosen: n2 with 147.5 points
  runner-up: n1 with 130 points (web/low-cpu -21.5, NodeResourcesFit +4)

  POINTS               n2   n1
  NodeResourcesFit     86   90
  web/low-cpu        61.5   40
  total             147.5  130
""",
    "prod/big": """\
prod/big does not fit (attempt 1, 2026-01-05T12:00:00+00:00)
  profile policysched, without policies
  waited 1.2s, decided in 850µs, over after 12.4ms
  0 of 1,200 nodes fit
  0/1200 nodes are available: 1200 Insufficient cpu.
  preemption makes room on n5: prod/a, prod/b
  web/too-hot (line 9): cpu_busy 91% > 80%
  skipped, no node had a valid sample of a metric: web/low-cpu, web/low-disk

  NODES  REJECTED BY       REASON            WHICH
  1,200  NodeResourcesFit  Insufficient cpu  n3, n4 and 1,198 more
""",
}


@pytest.fixture
def page(tmp_path: pathlib.Path) -> str:
    """A file that holds two decisions, as the page says them."""
    report_schemas.check_report(PAGE, "decisions")
    path = tmp_path / "decisions.json"
    path.write_text(json.dumps(PAGE))
    return str(path)


@pytest.mark.parametrize("pod", TEXTS)
def test_a_decision_is_told_to_people(
    pod: str, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the pod went, what ruled out nodes, and what the chosen one had over the next."""
    assert main.main(["explain", "--decisions", page, "pod", pod]) == 0
    assert capsys.readouterr().out == TEXTS[pod]


def test_all_decisions(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other, and as JSON."""
    assert main.main(["explain", "--decisions", page, "--all"]) == 0
    assert capsys.readouterr().out == "\n".join(TEXTS.values())
    assert main.main(["explain", "--decisions", page, "--all", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == PAGE["decisions"]


@pytest.fixture
def server() -> Iterator[str]:
    """A server that lets the token in, and says what it was asked."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            body, status = json.dumps(PAGE).encode(), 200
            if path != "/debug/decisions":
                body, status = b"nothing here", 404
            elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
                body, status = b"who are you?\nsecond line", 401
            elif "pod=prod%2Fgone" in query:
                body = json.dumps(PAGE | {"decisions": []}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", process.free_port()), Handler) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()
        thread.join()


@pytest.fixture
def token(tmp_path: pathlib.Path) -> str:
    """A file that holds the token."""
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    return str(path)


def test_a_server_is_asked(server: str, token: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The page need not be named; the token is sent."""
    for url in (server, f"{server}/", f"{server}/debug/decisions?limit=1"):
        argv = ["explain", "--decisions", url, "--token-file", token, "pod", "prod/web"]
        assert main.main(argv) == 0
        assert capsys.readouterr().out == TEXTS["prod/web"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv, problem",
    [
        pytest.param(["SERVER", "--all"], "answered 401 who are you? (give --token-file", id="401"),
        pytest.param(["SERVER/other", "--all"], "answered 404 nothing here (is this the", id="404"),
        pytest.param(
            ["SERVER", "--token-file", "TOKEN", "pod", "prod/gone"],
            "`prod/gone`: no decision about this pod is kept (only the latest",
            id="unknown pod",
        ),
        pytest.param(["http://127.0.0.1:9", "--all"], "no answer", id="nobody"),
        pytest.param(
            ["SERVER", "--token-file", "none", "--all"], "none: cannot be read", id="file"
        ),
        pytest.param(["TOKEN", "--all"], "token: is not JSON", id="no JSON"),
        pytest.param(["KUBECONFIG", "--all"], "contains no decisions (it must be the", id="other"),
    ],
)
def test_what_cannot_be_read_is_told(
    argv: list[str],
    problem: str,
    server: str,
    token: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What, where, and what to do about it; exit code 2."""
    other = tmp_path / "other.json"
    other.write_text('{"items": []}')
    places = {"SERVER": server, "TOKEN": token, "KUBECONFIG": str(other)}
    for name, place in places.items():
        argv = [each.replace(name, place) for each in argv]
    assert main.main(["explain", "--decisions", *argv]) != 0
    said = capsys.readouterr().err
    assert problem in said
    assert TOKEN not in said


@pytest.mark.parametrize(
    "argv, problem",
    [
        (["--decisions", "x", "--cluster", "y", "--all"], "--decisions and --cluster are mutually"),
        (["--decisions", "x", "pod", "a", "--node", "n"], "--decisions and --node are mutually"),
        (["--decisions", "", "--all"], "--decisions is empty"),
        (["--decisions", "x"], "no pod is named"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    argv: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3."""
    assert main.main(["explain", *argv]) == 3
    assert problem in capsys.readouterr().err
