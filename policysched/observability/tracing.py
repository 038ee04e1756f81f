"""Send spans of scheduling attempts with OTLP over HTTP; off without `tracing.endpoint`.

scheduling attempt
├─ queue
├─ cycle      PreFilter, Filter, Score, PostFilter, Reserve, Permit
└─ binding    PreBindPreFlight, WaitOnPermit, PreBind, Bind

Each attempt is a separate trace. Its spans are made from its record after it ends, so an attempt
outside the sample costs only one random number. The SDK sends spans from its own thread, and drops
them if the receiver does not accept them. Only this module imports the SDK, and only if tracing is
on.
"""

from __future__ import annotations

import asyncio
import platform
import random
import urllib.parse
from typing import TYPE_CHECKING, Final, NoReturn

import policysched
from policysched import clock as clocks
from policysched import errors, server_urls
from policysched.config import config
from policysched.framework import point_times
from policysched.scheduler import counters, decisions, measurements

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import export

_MILLION: Final = 1_000_000
_NANOSECONDS: Final = 1_000_000_000
_EXPORT_TIMEOUT_SECONDS = 5.0
_DEFAULT_PATH = "/v1/traces"
_BINDING_POINTS = frozenset(("PreBindPreFlight", measurements.PERMIT_WAIT, "PreBind", "Bind"))


def make_tracer(
    configured: config.TracingConfig, clock: clocks.Clock, rng: random.Random
) -> AttemptTracer | None:
    """Return a tracer of attempts, or None if tracing is off.

    Raises:
        ConfigurationError: the endpoint is not a URL, or the extra `tracing` is not installed.
    """
    if not configured.endpoint:
        return None
    url = _make_traces_url(configured.endpoint)
    try:
        from opentelemetry.exporter.otlp.proto.http import (  # noqa: PLC0415 - see above
            trace_exporter,
        )
    except ImportError as error:
        problem = "needs OpenTelemetry, which is not installed"
        advice = "install `policysched[tracing]`, or leave the endpoint out"
        raise errors.ConfigurationError("`tracing.endpoint`", problem, help=advice) from error
    exporter = trace_exporter.OTLPSpanExporter(url, timeout=_EXPORT_TIMEOUT_SECONDS)
    return AttemptTracer(exporter, configured.sampling_rate_per_million, clock, rng)


def _make_traces_url(endpoint: str) -> str:
    """Return the URL for spans, with OTLP's default path if the endpoint has no path.

    Raises:
        ConfigurationError: the endpoint is not an HTTP URL.
    """
    parts = server_urls.split_server_url(endpoint)
    if parts is None:
        advice = "write http://HOST:4318, or https://…; OTLP over gRPC is not supported"
        raise errors.ConfigurationError("`tracing.endpoint`", "is not an HTTP URL", help=advice)
    if parts.path in ("", "/"):
        parts = parts._replace(path=_DEFAULT_PATH)
    return urllib.parse.urlunsplit(parts)


class AttemptTracer:
    """Makes spans from the records of a sample of the ended attempts."""

    def __init__(
        self,
        exporter: export.SpanExporter,
        rate_per_million: int,
        clock: clocks.Clock,
        rng: random.Random,
    ) -> None:
        """Send spans of `rate_per_million` in a million attempts, sampled with `rng`."""
        from opentelemetry.sdk import resources  # noqa: PLC0415 - see above
        from opentelemetry.sdk import trace as sdk  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace import export as exports  # noqa: PLC0415 - as above

        self._rate_per_million = rate_per_million
        self._clock = clock
        self._rng = rng
        about = {
            "service.name": "policysched",
            "service.version": policysched.__version__,
            "service.instance.id": platform.node(),
        }
        self._provider = sdk.TracerProvider(
            resource=resources.Resource.create(about), shutdown_on_exit=False
        )
        self._provider.add_span_processor(exports.BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("policysched", policysched.__version__)

    async def run(self) -> NoReturn:
        """Wait until cancelled, then flush and stop the SDK, which has its own threads."""
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(self._provider.shutdown)
        raise AssertionError  # the event is never set

    def trace_ended_attempt(self, decision: decisions.SchedulingDecision) -> None:
        """Make the spans of an ended attempt if it is selected for the sample."""
        if self._rng.random() * _MILLION < self._rate_per_million:
            self._make_attempt_spans(decision)

    def _make_attempt_spans(self, decision: decisions.SchedulingDecision) -> None:
        """Make spans from a record, and convert its monotonic times to wall-clock times."""
        from opentelemetry import context, trace  # noqa: PLC0415 - see above

        now_seconds = self._clock.monotonic_seconds()
        ended_seconds = now_seconds if decision.ended_seconds is None else decision.ended_seconds
        now_nanoseconds = int(self._clock.now().timestamp() * _NANOSECONDS)

        def wall(seconds: float) -> int:
            return now_nanoseconds - int((now_seconds - seconds) * _NANOSECONDS)

        def span(
            name: str, began_seconds: float, end_seconds: float, parent: context.Context
        ) -> trace.Span:
            made = self._tracer.start_span(name, parent, start_time=wall(began_seconds))
            made.end(wall(end_seconds))
            return made

        started_seconds = decision.started_seconds
        queued_seconds = started_seconds - decision.waited_seconds
        root = self._tracer.start_span(
            "scheduling attempt",
            context.Context(),  # no parent, even if a span is current
            attributes=_make_span_attributes(decision),
            start_time=wall(queued_seconds),
        )
        if decision.result is not counters.AttemptResult.SCHEDULED:
            root.set_status(_make_span_status(decision))
        inside = trace.set_span_in_context(root, context.Context())
        span("queue", queued_seconds, started_seconds, inside)
        for name, points in _group_extension_points(decision).items():
            first, last = points[0].started_seconds, points[-1].ended_seconds
            phase = span(name, first, last, inside)
            within = trace.set_span_in_context(phase, context.Context())
            for each in points:
                span(each.point, each.started_seconds, each.ended_seconds, within)
        root.end(wall(ended_seconds))


def _group_extension_points(
    decision: decisions.SchedulingDecision,
) -> dict[str, list[point_times.PointTime]]:
    """Return the extension points grouped by phase: `cycle` and `binding`."""
    found: dict[str, list[point_times.PointTime]] = {}
    for each in decision.times.taken:
        phase = "binding" if each.point in _BINDING_POINTS else "cycle"
        found.setdefault(phase, []).append(each)
    return found


def _make_span_attributes(
    decision: decisions.SchedulingDecision,
) -> dict[str, str | int | tuple[str, ...]]:
    """Return the attributes of the attempt's span, with OpenTelemetry's names where they exist."""
    namespace, _, name = decision.pod.partition("/")
    return {
        "k8s.namespace.name": namespace,
        "k8s.pod.name": name,
        "k8s.pod.uid": decision.uid,
        "k8s.node.name": decision.node_name or "",
        "policysched.profile": decision.scheduler_name,
        "policysched.policies": decision.policies,
        "policysched.policy_hash": decision.policy_hash,
        "policysched.result": decision.result.value,
        "policysched.attempt": decision.attempt,
        "policysched.nodes": decision.node_count,
        "policysched.feasible": decision.feasible_count,
    }


def _make_span_status(decision: decisions.SchedulingDecision) -> trace.Status | trace.StatusCode:
    """Return an error status only for errors; an unschedulable pod is not an error."""
    from opentelemetry import trace  # noqa: PLC0415 - see above

    if decision.result is counters.AttemptResult.ERROR:
        return trace.Status(trace.StatusCode.ERROR, decision.message)
    return trace.Status(trace.StatusCode.UNSET)
