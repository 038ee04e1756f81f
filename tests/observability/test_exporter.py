from __future__ import annotations

import datetime
import itertools
import pathlib
import re
import types
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from prometheus_client import core, parser

from policysched.auditing import live_audit
from policysched.compiler import compiler
from policysched.config import election_config
from policysched.extenders import measurements
from policysched.kube.http import request_stats
from policysched.leadership import election
from policysched.observability import (
    dry_run_report,
    exporter,
    metrics_source_events,
    request_metrics,
    scheduler_metrics,
    shadow_policy_report,
    unserved_pod_reporter,
)
from policysched.promapi import failures, status
from policysched.reload import reporting, rule_expiry, state
from policysched.reload.rollouts import measuring, rollout_metrics
from policysched.rollout import guards, progress, settings
from tests import builders
from tests.compiler import desk
from tests.observability import busy_world, kept_events
from tests.scheduler import fakes

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "metrics.md"

POLICY = """
metric busy: ratio = `x` node instance refresh 15s maxAge 2m between 0% and 105%
  placed adds requests(cpu) / allocatable(cpu) for 90s
policy p {
  for pods
  reject when busy > 80% missing allow
  score busy over 10m avg prefer low missing score 0
}
"""


def _stats() -> status.MetricStats:
    stats = status.MetricStats("busy", "busy", "default", queries=7)
    stats.last_success = datetime.datetime.fromtimestamp(1000, datetime.UTC)
    stats.durations.observe(0.03)
    stats.counts[failures.QueryIssue.DUPLICATE] = 2
    return stats


def _samples(own: exporter.MetricsExporter) -> dict[str, float]:
    """Return what the page says, as `name{labels}` → value, read by Prometheus' own rules."""
    page = own.make_page()
    assert page.content_type.startswith("text/plain; version=0.0.4")
    found = {}
    for family in parser.text_string_to_metric_families(page.body.decode()):
        for sample in family.samples:
            labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


@pytest.fixture
def nodes() -> desk.Desk:
    """Four nodes: a fresh sample, an old one, one out of range, none."""
    names = ("fresh", "old", "odd", "none")
    made = desk.Desk(POLICY, [desk.node(n).capacity(cpu="4", pods=10) for n in names])
    made.sample("busy", {"fresh": 12.0, "old": 300.0}, fresh=0.5, old=0.5, odd=1.3)
    return made


def _own(scene: desk.Desk) -> exporter.MetricsExporter:
    own = exporter.MetricsExporter()
    program: compiler.CompiledProgram = scene.program
    readers = tuple(program.metric_parts.readers())
    own.add_collector(lambda: exporter.collect_sample_metrics(readers, scene.cache.snapshot()))
    return own


def test_nodes_are_told_by_whether_they_have_a_value(nodes: desk.Desk) -> None:
    """The four states, the ages of the newest and the oldest sample."""
    found = _samples(_own(nodes))
    states = {s: found[f"policysched_metric_nodes{{metric=busy,state={s}}}"] for s in _STATES}
    assert states == {"ok": 1, "stale": 1, "outOfRange": 1, "missing": 1}
    assert found["policysched_metric_newest_sample_age_seconds{metric=busy}"] == 0
    assert found["policysched_metric_oldest_sample_age_seconds{metric=busy}"] == 300
    assert found["policysched_metric_outage{metric=busy}"] == 0


_STATES = ("ok", "stale", "outOfRange", "missing")


def test_samples_age_while_nobody_asks(nodes: desk.Desk) -> None:
    """In an outage nothing is refreshed; what the page says moves on all the same."""
    own = _own(nodes)
    nodes.clock.advance(121)
    found = _samples(own)
    assert found["policysched_metric_nodes{metric=busy,state=ok}"] == 0
    assert found["policysched_metric_outage{metric=busy}"] == 1
    assert found["policysched_metric_newest_sample_age_seconds{metric=busy}"] == 121


def test_added_load_is_told(nodes: desk.Desk) -> None:
    """In the unit of the metric, over all nodes, with the pods that make it up."""
    own = _own(nodes)
    for number, node in enumerate(("fresh", "fresh", "none")):
        pod = builders.make_pod(f"p{number}").requests(cpu="200m").node(node).build()
        nodes.cache.assume_pod(nodes.shapes.make_pod_info(pod), node)
    found = _samples(own)
    assert found["policysched_metric_added_load{metric=busy}"] == pytest.approx(0.15)
    assert found["policysched_metric_added_pods{metric=busy}"] == 3


def test_queries_and_sources_are_told() -> None:
    """How many, how long they took, what was wrong with answers, which source is down."""
    own = exporter.MetricsExporter()
    stats = _stats()
    own.add_collector(lambda: exporter.collect_query_metrics([stats]))
    health = [status.SourceHealth("default", is_up=True), status.SourceHealth("b", is_up=False)]
    own.add_collector(lambda: exporter.collect_source_metrics(health))
    found = _samples(own)
    key = "metric=busy,source=default"
    assert found[f"policysched_metric_queries_total{{{key}}}"] == 7
    assert found[f"policysched_metric_answer_remarks_total{{cause=duplicate,{key}}}"] == 2
    assert found[f"policysched_metric_last_success_timestamp_seconds{{{key}}}"] == 1000
    assert found[f"policysched_metric_query_duration_seconds_count{{{key}}}"] == 1
    assert found[f"policysched_metric_query_duration_seconds_bucket{{le=0.05,{key}}}"] == 1
    assert found[f"policysched_metric_query_duration_seconds_bucket{{le=0.025,{key}}}"] == 0
    assert found["policysched_metrics_source_up{source=default}"] == 1
    assert found["policysched_metrics_source_up{source=b}"] == 0


def test_events_tell_when_a_source_goes_down_and_comes_back() -> None:
    """The first says what happens to samples, and why; before the start nobody listens."""
    watch = metrics_source_events.MetricsSourceEventWriter()
    problem, address = "connection refused", "prometheus:9090"
    down = status.SourceHealth("default", is_up=False, problem=problem, address=address)
    watch.source_changed(down)
    watch.recorder = recorder = kept_events.KeptEvents()
    watch.source_changed(down)
    watch.source_changed(status.SourceHealth("default", is_up=True))
    assert [(kind, reason) for kind, reason, _, _ in recorder.events] == [
        ("Warning", "MetricsSourceDown"),
        ("Normal", "MetricsSourceUp"),
    ]
    note = recorder.events[0][3]
    assert re.fullmatch(
        r"metrics source default \(prometheus:9090\) is down, .*: connection refused", note
    )


class _Source:
    """A metrics source that nothing has been asked."""

    def get_server_health(self) -> tuple[status.SourceHealth, ...]:
        return (status.SourceHealth("default", is_up=True),)

    def get_metric_stats(self) -> tuple[status.MetricStats, ...]:
        return (_stats(),)


def _of_parts(world: fakes.World) -> Iterator[Iterable[core.Metric]]:
    """Yield what the parts of `run` add, most of them without anything to tell."""
    stranger = builders.make_pod("stranger").scheduler_name("stranger").build()
    world.scheduler.events.pods.upsert(stranger)
    pods = world.scheduler.events.pods.unserved
    yield unserved_pod_reporter.UnservedPodReporter(pods, world.clock, tuple).collect_metrics()
    yield request_metrics.collect_request_metrics(request_stats.RequestStats(), "127.0.0.1:6443")
    decided: Any = types.SimpleNamespace(tallies={}, refresh_candidates=lambda: None)
    yield shadow_policy_report.ShadowPolicyReporter(decided, print).collect_metrics()
    compared: Any = types.SimpleNamespace(placed={}, waiting={}, seconds=0.0)
    yield dry_run_report.DryRunReporter(compared).collect_metrics()
    elector: Any = types.SimpleNamespace(is_leading=True)
    yield election.collect_leadership_metrics(
        election_config.LeaderElectionConfig(leader_elect=True), elector
    )
    policy_set: Any = types.SimpleNamespace(program=None)
    yield rule_expiry.collect_rule_expiry_metrics(lambda: policy_set)
    scheduler = world.scheduler
    leads = live_audit.LiveCluster(
        scheduler.find_framework,
        scheduler.get_frameworks,
        scheduler.cache.snapshot,
        lambda: True,
    )
    yield live_audit.LiveAudit(leads, world.clock, 60.0).collect_metrics()
    asked = measurements.CallMeasurements(world.clock)
    asked.durations.observe(0.01, "http://extender", "filter", "success")
    yield scheduler_metrics.collect_extender_metrics(asked.durations)
    in_use = state.VersionInUse("hash", (), world.clock.now())
    policies = state.PolicyState("here", in_use)
    yield reporting.collect_reload_metrics(policies)
    stages = (settings.Stage(shadow=True),)
    plan, now = settings.RolloutSettings(stages), world.clock.now()
    policies.rollout = progress.start_rollout(plan, "new", "hash", now)
    verdict = guards.GuardVerdict("pending", guards.GuardState.OK, 0.1, 0.2)
    measured = measuring.StageMeasurements(world.scheduler, world.clock)
    evaluator = types.SimpleNamespace(verdicts=(verdict,), measured=measured)
    rollouts: Any = types.SimpleNamespace(
        outcomes={"promoted": 1}, evaluator=evaluator, failed_requests=0
    )
    yield rollout_metrics.collect_rollout_metrics(policies, rollouts)


def test_the_docs_name_every_metric() -> None:
    """The table of docs/metrics.md has the names and labels that are served, and no others."""
    world = busy_world.play()
    claims, of_device = world.scheduler.measured_claims, ("profile", "gpu.example.com", "success")
    claims.creations["success"] += 1
    claims.conditional_devices[of_device] += 1
    claims.waits.observe(1.0, *of_device)
    own = exporter.MetricsExporter()
    readers = tuple(compiler.compile_program(desk.check(POLICY)).metric_parts.readers())
    own.add_scheduler_metrics(world.scheduler, lambda: readers, _Source())  # type: ignore[arg-type]  # it need not run
    served = {}
    for family in itertools.chain(own.registry.collect(), *_of_parts(world)):
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        if not name.startswith(("process_", "python_gc_")):
            served[name] = labels | set(getattr(family, "_labelnames", ()))
    section = PAGE.read_text(encoding="utf-8").split("## Metrics of its own")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|", section, re.MULTILINE)
    assert {name: set(re.findall(r"\w+", labels)) for name, labels in rows} == served
