"""Spans of scheduling attempts, sent by the real SDK to a server that decodes them."""

from __future__ import annotations

import asyncio
import dataclasses
import http.server
import random
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from policysched import errors
from policysched.config import config
from policysched.observability import tracing
from tests.observability import busy_world
from tests.realcluster import process
from tests.scheduler import fakes

ALL = 1_000_000
ATTEMPTS = 11


@dataclasses.dataclass
class Receiver:
    """An OTLP receiver.

    Attributes:
        url: where it listens.
        paths: of the requests that came.
        spans: what they held; `services` the names of what sent them.
    """

    url: str
    paths: list[str] = dataclasses.field(default_factory=list)
    spans: list[trace_pb2.Span] = dataclasses.field(default_factory=list)
    services: set[str] = dataclasses.field(default_factory=set)

    def take(self, path: str, body: bytes) -> None:
        """Decode a request."""
        self.paths.append(path)
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            about = {each.key: each.value.string_value for each in resource.resource.attributes}
            self.services.add(about["service.name"])
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Start a receiver on a loopback port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", process.free_port()), Handler) as server:
        received = Receiver(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield received
        server.shutdown()
        thread.join()


def _trace_busy_world(endpoint: str, rate_per_million: int) -> fakes.World:
    """Let a busy world happen while its attempts are traced, send all of it, and return it."""
    busy = busy_world.BusyWorld()
    configured = config.TracingConfig(endpoint, rate_per_million)
    tracer = tracing.make_tracer(configured, busy.world.clock, random.Random(1))
    assert tracer is not None
    busy.world.scheduler.decisions.end_listeners.append(tracer.trace_ended_attempt)
    busy.play()

    async def stop() -> None:
        running = asyncio.create_task(tracer.run())
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(stop())
    return busy.world


def _name(span: trace_pb2.Span) -> str:
    return str(span.name)


def _attributes(span: trace_pb2.Span) -> dict[str, str | int]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def test_every_attempt_is_a_trace(receiver: Receiver) -> None:
    """With a rate of a million in a million; traces have no parents and ids of their own."""
    _trace_busy_world(receiver.url, ALL)
    roots = [span for span in receiver.spans if not span.parent_span_id]
    assert [span.name for span in roots] == ["scheduling attempt"] * ATTEMPTS
    assert len({span.trace_id for span in receiver.spans}) == ATTEMPTS
    assert receiver.services == {"policysched"}
    assert set(receiver.paths) == {"/v1/traces"}


def test_the_spans_of_an_attempt(receiver: Receiver) -> None:
    """Queue, cycle and binding with their extension points, by the clock of the loop."""
    _trace_busy_world(receiver.url, ALL)
    (root,) = (span for span in receiver.spans if _attributes(span).get("k8s.pod.name") == "waits")
    spans = [span for span in receiver.spans if span.trace_id == root.trace_id]
    names = {span.span_id: span.name for span in spans}
    tree = [(names.get(span.parent_span_id, ""), _name(span)) for span in spans]
    assert sorted(tree) == sorted(
        [
            ("", "scheduling attempt"),
            ("scheduling attempt", "queue"),
            ("scheduling attempt", "cycle"),
            *(("cycle", point) for point in ("PreFilter", "Filter", "Reserve", "Permit")),
            ("scheduling attempt", "binding"),
            *(("binding", p) for p in ("PreBindPreFlight", "WaitOnPermit", "PreBind", "Bind")),
        ]
    )
    seconds = {
        _name(span): (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9 for span in spans
    }
    assert {name for name, value in seconds.items() if value} == {
        "scheduling attempt",
        "binding",
        "WaitOnPermit",
    }
    assert seconds["scheduling attempt"] == pytest.approx(3.0)
    assert _attributes(root) == {
        "k8s.namespace.name": "default",
        "k8s.pod.name": "waits",
        "k8s.pod.uid": "uid-default-waits",
        "k8s.node.name": "n1",
        "policysched.profile": "default-scheduler",
        "policysched.policies": 0,  # a list, which the helper does not read
        "policysched.policy_hash": "3f2a91c0ffee",
        "policysched.result": "scheduled",
        "policysched.attempt": 1,
        "policysched.nodes": 1,
        "policysched.feasible": 1,
    }


def test_errors_are_errors_and_pods_that_fit_nowhere_are_not(receiver: Receiver) -> None:
    """The message of an error is that of its span."""
    _trace_busy_world(receiver.url, ALL)
    failed = [s for s in receiver.spans if s.status.code == trace_pb2.Status.STATUS_CODE_ERROR]
    assert [s.status.message for s in failed] == [
        'running Bind plugin "DefaultBinder": no such pod'
    ]


def test_a_share_of_the_attempts_is_sampled(receiver: Receiver) -> None:
    """Whole traces or nothing; none at the default rate of 0."""
    _trace_busy_world(receiver.url, 0)
    assert receiver.spans == []
    _trace_busy_world(f"{receiver.url}/own/path", ALL // 2)
    roots = [span for span in receiver.spans if not span.parent_span_id]
    assert 0 < len(roots) < ATTEMPTS
    assert len({span.trace_id for span in receiver.spans}) == len(roots)
    assert set(receiver.paths) == {"/own/path"}


@pytest.mark.slow
def test_nobody_who_listens_costs_no_attempt() -> None:
    """A port without a server: each pod fares as without tracing, and the process can stop."""
    traced, untraced = _trace_busy_world("http://127.0.0.1:9", ALL), busy_world.play()
    assert traced.bind.bound == untraced.bind.bound
    assert [name for name, _ in traced.bind.bound] == ["a", "waits"]
    assert [(each.pod, each.result) for each in traced.scheduler.decisions] == [
        (each.pod, each.result) for each in untraced.scheduler.decisions
    ]


@pytest.mark.parametrize("endpoint", ["collector:4317", "grpc://c:4317", "http://", "/v1/traces"])
def test_an_endpoint_that_is_no_url_is_refused(endpoint: str) -> None:
    """kube-apiserver's form of one, HOST:PORT for gRPC, is a likely slip."""
    busy = busy_world.BusyWorld()
    with pytest.raises(errors.ConfigurationError, match="is not an HTTP URL"):
        tracing.make_tracer(config.TracingConfig(endpoint, ALL), busy.world.clock, random.Random(1))


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that nobody serves would be taken for one that works."""
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    configured = config.TracingConfig("http://127.0.0.1:4318", ALL)
    clock = busy_world.BusyWorld().world.clock
    with pytest.raises(errors.ConfigurationError) as caught:
        tracing.make_tracer(configured, clock, random.Random(1))
    assert "policysched[tracing]" in str(caught.value)
    assert tracing.make_tracer(config.TracingConfig(), clock, random.Random(1)) is None


@pytest.mark.slow
def test_it_costs_no_import_while_it_is_off() -> None:
    """The SDK stays out of a process that traces nothing."""
    code = (
        "import sys; import policysched.app.scheduler_process;"
        "import policysched.observability.tracing;"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 0
