"""How a dry run tells of itself, and why it cannot write."""

from __future__ import annotations

import asyncio
import logging

import pytest

from policysched import clock as clocks
from policysched.kube import errors
from policysched.leadership import election, runner
from policysched.observability import dry_run_report, exporter
from tests import builders
from tests.observability import page_forms
from tests.scheduler import test_dry_run as scenes
from tests.scheduler import test_shadow_decisions as worlds


def _beside() -> scenes.Beside:
    beside = scenes.Beside("nodeAffinity preferred disk = hdd weight 9", n1=scenes.A, n2=scenes.B)
    beside.binds(worlds.web("a"), "n2")
    beside.binds(worlds.web("b"), "n1")
    pod = worlds.web("large").requests(cpu="64").meta(creation_timestamp="2026-01-05T11:00:00Z")
    beside.world.fake.pods.upsert(pod.build())
    beside.look()
    return beside


SUMMARY = "agrees on 1 of 2 placed pods (50.0%), 1 sameNode, 1 otherNode, 1 bothPending"


def test_the_log_has_a_summary_and_each_difference_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing is repeated while nothing changes."""
    caplog.set_level(logging.INFO, "policysched")
    report = dry_run_report.DryRunReporter(_beside().dry_run)
    report.log_new_differences()
    report.log_new_differences()
    first, last = (record.getMessage() for record in caplog.records)
    assert first.startswith("dry run: pod=default/b outcome=otherNode theirs=n1 ours=n2: n2 has ")
    assert last == f"dry run: {SUMMARY}"


def test_before_anything_was_compared_there_is_no_share() -> None:
    """Nothing is divided by nothing."""
    beside = scenes.Beside("")
    summary = dry_run_report.DryRunReporter(beside.dry_run).format_summary()
    assert summary == "agrees on 0 of 0 placed pods"


def test_metrics_count_by_outcome() -> None:
    """Placed pods are counters, those that wait a gauge."""
    own = exporter.MetricsExporter()
    own.add_collector(dry_run_report.DryRunReporter(_beside().dry_run).collect_metrics)

    def value(name: str, **labels: str) -> float | None:
        return own.registry.get_sample_value(name, {"profile": worlds.NAME, **labels})

    assert value("policysched_dry_run_pods_total", outcome="sameNode") == 1
    assert value("policysched_dry_run_pods_total", outcome="otherNode") == 1
    assert value("policysched_dry_run_pending_pods", outcome="bothPending") == 1


def test_the_page_has_the_latest_differences() -> None:
    """With both nodes, and what makes the difference."""
    page = page_forms.read(
        "dry-run", dry_run_report.DryRunReporter(_beside().dry_run).make_page().body
    )
    assert page["summary"] == SUMMARY
    assert page["waiting"] == {"bothPending": 1}
    (difference,) = page["differences"]
    assert (difference["pod"], difference["theirNode"], difference["ourNode"]) == (
        "default/b",
        "n1",
        "n2",
    )


def test_no_write_may_begin() -> None:
    """Whoever tries is refused before anything is sent."""
    clock = clocks.ManualClock(builders.EPOCH)
    fence = election.make_closed_write_fence(clock)
    with pytest.raises(errors.FencedWriteError):
        fence.compute_allowed_write_seconds()


def test_it_never_leads() -> None:
    """So nothing that waits for the leader's turn begins."""

    async def scenario() -> None:
        elector = runner.NeverLeader()
        assert elector.is_leading is False
        waiting = asyncio.ensure_future(elector.acquire())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()

    asyncio.run(scenario())
