"""`audit --evict` on an API server that lists a small cluster and takes evictions."""

from __future__ import annotations

import http.server
import json
import pathlib
import time
from typing import Any

import pytest

from policysched import clock as clocks
from policysched.auditing import move_pace
from policysched.cli import main
from tests import report_schemas
from tests.cli import clusters
from tests.realcluster import http_thread, process

_POLICY = """version 1
metric busy: ratio = `busy` node instance refresh 60s maxAge 5m
policy web {
  for pods where app = web
  nodeAffinity required pool = fast as fast
  reject when busy > 80% missing reject as too-hot
}
"""
_LABELS_ONLY = """version 1
metric busy: ratio = `busy` node instance refresh 60s maxAge 5m
policy web { for pods where app = web  nodeAffinity required pool = fast as fast }
policy tried { mode shadow  for pods  reject when busy > 80% missing reject as too-hot }
"""
_KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:PORT"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


class _FakeApi(http_thread.HttpThread):
    """Lists nodes and pods; a context manager.

    Attributes:
        lists: the objects by resource; lists of other resources are empty.
        evicted: the names of the pods that were evicted.
        is_listed: whether an object was read.
    """

    def __init__(self, **lists: list[dict[str, Any]]) -> None:
        self.lists = lists
        self.evicted: list[str] = []
        self.is_listed = False
        self._guard: dict[str, Any] = {"metadata": {"name": "policysched-audit"}, "data": {}}
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.is_listed = True
                path = self.path.partition("?")[0]
                items = owner.lists.get(path.rsplit("/", 1)[1], [])
                listed = {"metadata": {"resourceVersion": "1"}, "items": items}
                self._answer(owner._guard if "/configmaps/" in path else listed)

            def do_PATCH(self) -> None:
                owner._guard["data"] |= self._read()["data"]
                self._answer(owner._guard)

            def do_POST(self) -> None:
                owner.evicted.append(self._read()["metadata"]["name"])
                self._answer({"kind": "Status", "status": "Success"})

            def log_message(self, *args: object) -> None:
                """Print nothing."""

            def _read(self) -> Any:
                return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, body: object) -> None:
                content = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self.port = process.free_port()
        super().__init__(http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler))


def _pod(name: str, kind: str = "ReplicaSet", **spec: Any) -> dict[str, Any]:
    """Return a pod on the slow node that belongs to a controller of its own."""
    pod = clusters.pod(name, on="slow", **{"schedulerName": "policysched"} | spec)
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True}
    pod["metadata"] |= {"uid": name, "ownerReferences": [owner]}
    return pod


@pytest.fixture(autouse=True)
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class _Run:
    """A run of `audit --live` on a slow and a fast node with some pods."""

    def __init__(self, policy: str, *pods: dict[str, Any]) -> None:
        nodes = [clusters.node("slow", pool="slow"), clusters.node("fast", pool="fast")]
        self.api = _FakeApi(nodes=nodes, pods=list(pods))
        pathlib.Path("web.policy").write_text(policy, encoding="utf-8")

    def audit(self, *flags: str) -> int:
        """Return the exit code."""
        with self.api:
            text = _KUBECONFIG.replace("PORT", str(self.api.port))
            pathlib.Path("kubeconfig").write_text(text, encoding="utf-8")
            return main.main(["audit", "--kubeconfig", "kubeconfig", "web.policy", *flags])


def _read_report(capsys: pytest.CaptureFixture[str]) -> Any:
    report = json.loads(capsys.readouterr().out)
    report_schemas.check_report(report, "audit")
    return report


def test_violators_are_evicted(capsys: pytest.CaptureFixture[str]) -> None:
    """A metric that only a shadow policy reads needs no samples."""
    run = _Run(_LABELS_ONLY, _pod("one"))
    assert run.audit("--evict", "--dry-run=false", "-o", "json") == 1
    (move,) = _read_report(capsys)["moves"]["pods"]
    assert (move["name"], move["target"], move["outcome"]) == ("one", "fast", "evicted")
    assert run.api.evicted == ["one"]


@pytest.mark.parametrize("flags", [[], ["--dry-run=false"], ["--metrics", "metrics.json"]])
def test_no_pod_is_moved_without_samples(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The fast node may be hot, and `run` would know it."""
    pathlib.Path("metrics.json").write_text("{}", encoding="utf-8")
    run = _Run(_POLICY, _pod("one"))
    assert run.audit("--evict", *flags) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "no node has a valid sample of `busy`, which the policies read" in said.err
    assert ("give --prometheus URL or --metrics FILE" in said.err) == ("--metrics" not in flags)
    assert run.api.evicted == []


def test_samples_of_a_file_are_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """They are as new as the audit."""
    pathlib.Path("metrics.json").write_text('{"busy": {"fast": 0.2}}', encoding="utf-8")
    assert _Run(_POLICY, _pod("one")).audit("--evict", "--metrics", "metrics.json") == 1
    assert "1 planned" in capsys.readouterr().out


def test_the_age_of_the_listing_counts_from_the_beginning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To read a large cluster and to audit it takes time, too."""
    run = _Run(_LABELS_ONLY, _pod("one"))

    def read_clock() -> float:
        """Jump at the first list, as if it took so long."""
        is_late = run.api.is_listed
        return time.monotonic() + (move_pace.MAX_LISTING_SECONDS if is_late else 0.0)

    monkeypatch.setattr(clocks.SystemClock, "monotonic_seconds", staticmethod(read_clock))
    assert run.audit("--evict", "--dry-run=false", "-o", "json") == 1
    (move,) = _read_report(capsys)["moves"]["pods"]
    assert move["outcome"] == "skipped"
    assert "too old" in move["reason"]
    assert run.api.evicted == []


def test_sarif_has_no_moves(capsys: pytest.CaptureFixture[str]) -> None:
    """The report must name each pod that was evicted."""
    run = _Run(_LABELS_ONLY, _pod("one"))
    assert run.audit("--evict", "--dry-run=false", "-o", "sarif") == 3
    assert "-o sarif has no moves" in capsys.readouterr().err
    assert run.api.evicted == []
