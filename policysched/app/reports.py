"""Components of `run` that report on shadow policies, dry runs, audits and expiring rules."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from policysched.app import context
from policysched.observability import dry_run_report, logs, shadow_policy_report
from policysched.reload import rule_expiry
from policysched.scheduler import dry_run

if TYPE_CHECKING:  # most processes have no audit
    from policysched.auditing import live_audit

_log = logging.getLogger("policysched")

_DECIDE_SECONDS = 10.0
"""Interval at which a dry run makes decisions about the pending pods."""
_SUMMARY_SECONDS = 60.0
"""Interval at which a dry run logs a summary if there are new results."""


def add_shadow_policy_report(components: context.ProcessComponents) -> None:
    """Evaluate shadow policies along with each decision, and report their decisions."""
    decided = shadow_policy_report.attach_shadow_decisions(
        components.scheduler, components.clock, lambda: components.profiles.current.shadows
    )
    report = shadow_policy_report.ShadowPolicyReporter(
        decided, _make_policy_event_writer(components)
    )
    components.metrics_exporter.add_collector(report.collect_metrics)
    components.pages[shadow_policy_report.PATH] = lambda _: report.make_page()
    components.background.append(report.run())


def _make_policy_event_writer(components: context.ProcessComponents) -> Callable[[str], None]:
    """Return a function that records events about the policies' ConfigMap, if there is one."""

    def record(note: str) -> None:
        config_map = components.config_map()
        if config_map is not None:
            shadow_policy_report.record_report_event(
                components.writers.recorder, config_map.involved_object, note
            )

    return record


def add_dry_run(components: context.ProcessComponents) -> None:
    """Compare decisions with another scheduler's if the options request a dry run.

    The process is a permanent standby: it never leads, so it does not write, and the fence of the
    API client would block any write. Permissions to list and watch are sufficient.
    """
    if not components.options.dry_run:
        return
    scheduler = components.scheduler
    kept = components.config.decisions.kept
    compared = dry_run.DryRunComparer(
        scheduler.cache, scheduler.find_framework, components.clock, kept
    )
    scheduler.events.pods.before_placed = compared.compare_bound_pod
    report = dry_run_report.DryRunReporter(compared)
    components.metrics_exporter.add_collector(report.collect_metrics)
    components.pages[dry_run_report.PATH] = lambda _: report.make_page()
    components.background.append(_run_dry_run_comparison(components, compared, report))


async def _run_dry_run_comparison(
    components: context.ProcessComponents,
    compared: dry_run.DryRunComparer,
    report: dry_run_report.DryRunReporter,
) -> NoReturn:
    """Compare decisions once the cluster has been listed, and log summaries."""
    await components.sync.wait_until_profiles_synced(components.profiles.get_profiles)
    compared.is_on = True
    names = ",".join(components.profiles.current.by_name)
    _log.info("dry run: nothing is written %s", logs.format_log_fields(profiles=names))
    reported_seconds = components.clock.monotonic_seconds()
    try:
        while True:
            for _ in compared.compare_pending_pods(
                each.info for each in components.scheduler.queue.list_waiting_pods()
            ):
                await asyncio.sleep(0)
            if components.clock.monotonic_seconds() - reported_seconds >= _SUMMARY_SECONDS:
                reported_seconds = components.clock.monotonic_seconds()
                report.log_new_differences()
            await asyncio.sleep(_DECIDE_SECONDS)
    finally:
        report.log_new_differences()


def add_audit(components: context.ProcessComponents) -> None:
    """Audit the running pods periodically if the configuration requests it."""
    every_seconds = components.config.audit.every_seconds
    if not every_seconds:
        return
    from policysched.auditing import live_audit  # noqa: PLC0415 - most processes have no audit

    scheduler = components.scheduler
    cluster = live_audit.LiveCluster(
        scheduler.find_framework,
        scheduler.get_frameworks,
        scheduler.cache.snapshot,
        lambda: components.elector.is_leading,
    )
    audit = live_audit.LiveAudit(cluster, components.clock, every_seconds)
    components.metrics_exporter.add_collector(audit.collect_metrics)
    components.background.append(_run_audit(components, audit))


async def _run_audit(
    components: context.ProcessComponents, audit: live_audit.LiveAudit
) -> NoReturn:
    """Audit once the cluster has been listed and the metrics have been queried."""
    await components.sync.wait_until_profiles_synced(components.profiles.get_profiles)
    if components.metrics is not None:
        await components.metrics.wait_until_metrics_asked()
    await audit.run()


def add_rule_expiry_metric(components: context.ProcessComponents) -> None:
    """Export the metric of the expiry times of rules."""
    components.metrics_exporter.add_collector(
        lambda: rule_expiry.collect_rule_expiry_metrics(lambda: components.profiles.policy_set)
    )
