"""Inputs of `audit`: the cluster, and metrics from a file or with their past from Prometheus."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.options import durations, offline_options
from policysched.cli.render import progress

if TYPE_CHECKING:
    from policysched.auditing import violations
    from policysched.inputs import cluster_file
    from policysched.offline import metric_histories, sessions
    from policysched.profiles import policies


def add_metric_options(group: argparse._ActionsContainer) -> None:
    """Add the options that select the samples of metrics."""
    group.add_argument(
        "--metrics",
        metavar="FILE",
        help="values of metrics, as YAML or JSON: `cpu_busy: {node-1: 91%%, node-2: _}`",
    )
    group.add_argument(
        "--prometheus",
        metavar="URL",
        help="the server whose metrics the policies read; its past samples give the ages of "
        "violations. Credentials are in the settings of `lint`",
    )
    group.add_argument(
        "--for",
        dest="for_seconds",
        metavar="DURATION",
        type=durations.parse_duration,
        default=0.0,
        help="of the violations by metrics, list only those that have lasted at least this time, "
        "such as 10m; needs --prometheus",
    )


def find_other_version(policy_set: policies.PolicySet) -> str:
    """Return which other version is in force according to the ConfigMap of the policies, or "".

    `run` writes the version in force to an annotation. It differs from the texts during a rollout,
    after a rollback, while reloads are frozen, and if the texts were refused.
    """
    from policysched.reload import status_annotations  # noqa: PLC0415 - not needed for `--help`

    for text in policy_set.texts:
        annotations = {} if text.origin is None else text.origin.annotations
        in_force = annotations.get(status_annotations.HASH, policy_set.content_hash)
        if in_force != policy_set.content_hash:
            status = annotations.get(status_annotations.STATUS, "unknown")
            return (
                f"the ConfigMap names version {in_force} as the version in force "
                f"(status {status}), but its texts with these params are version "
                f"{policy_set.content_hash}"
            )
    return ""


class AuditSource:
    """Audits the cluster of a session, with the samples that the options name."""

    def __init__(self, session: sessions.OfflineDeciderSource, args: argparse.Namespace) -> None:
        """Audit at the time `args.now`."""
        self._session = session
        self._args = args

    def audit(self) -> tuple[sessions.PodDecider, violations.AuditResult]:
        """Return the decider that judged the pods, and the result."""
        if self._args.prometheus is None:
            decider = next(offline_options.iterate_pod_deciders(self._session, self._args))
            return decider, self._audit_pods(decider)
        return self._audit_with_history()

    def _audit_with_history(self) -> tuple[sessions.PodDecider, violations.AuditResult]:
        """Audit with the samples of a Prometheus server; measure ages by its past samples."""
        from policysched.auditing import cluster_audit, judging, violation_ages  # noqa: PLC0415 - not needed for `--help`
        from policysched.offline import metric_histories, metric_replay  # noqa: PLC0415 - they import an HTTP client

        with progress.show_reading_progress("reading the cluster", [self._args.cluster]):
            where, found = next(self._session.clusters.places)
        times = self._make_history_times()
        histories = self._read_histories(found, times)
        start = metric_replay.find_start(histories, times)
        factory = dataclasses.replace(self._session.factory, now=start)
        decider = factory.make_decider(found, where)
        # Whether `until` holds a node must not depend on --for, so only the recent samples count.
        recent = dataclasses.replace(times, length_seconds=metric_histories.RECENT_SECONDS)
        metric_replay.replay_samples(decider.cluster, histories, recent)
        result = self._audit_pods(decider)
        if not any(judging.reads_metrics(each.rule) for each in result.violations):
            return decider, result
        # The samples of the past change the state of a cluster, so they need a new one.
        past = factory.make_decider(found, where)
        audit = cluster_audit.ClusterAudit(
            past.choice.choose_framework, past.cluster.cache.snapshot
        )
        ages = violation_ages.MetricViolationAges(
            audit, result, past.cluster.placed, past.cluster.cache.snapshot()
        )
        metric_replay.replay_samples(past.cluster, histories, times, ages.observe)
        return decider, dataclasses.replace(result, violations=ages.list_aged_violations())

    def _make_history_times(self) -> metric_histories.HistoryTimes:
        from policysched.offline import metric_histories  # noqa: PLC0415 - imports an HTTP client
        from policysched.profiles import policies  # noqa: PLC0415 - not needed for `--help`

        compiled = policies.compile_policy_set(self._session.factory.policies)
        length_seconds = max(metric_histories.RECENT_SECONDS, self._args.for_seconds)
        if compiled is None:
            return metric_histories.HistoryTimes(self._args.now, length_seconds)
        needs = compiled.metric_needs
        windows = {key: need.seconds for key, need in needs.histories.items()}
        until_metrics = {key for each in needs.followers for key in each.metrics}
        return metric_histories.HistoryTimes(self._args.now, length_seconds, windows, until_metrics)

    def _read_histories(
        self, found: cluster_file.ClusterObjects, times: metric_histories.HistoryTimes
    ) -> list[metric_histories.MetricHistory]:
        """Return the past samples of all metrics.

        Raises:
            InputError: the address or the settings of the server are invalid.
            RemoteError: the server does not answer.
        """
        from policysched.inputs import lint_settings  # noqa: PLC0415 - most runs need none
        from policysched.offline import lint_prometheus, metric_histories  # noqa: PLC0415 - imports an HTTP client
        from policysched.profiles import named_profile  # noqa: PLC0415 - as above

        table = lint_settings.read_prometheus_settings(None, pathlib.Path.cwd())
        server = lint_prometheus.make_prometheus_source(self._args.prometheus, table)
        metrics = named_profile.list_profile_node_metrics(
            self._session.factory.policies, self._args.scheduler_name
        )
        with progress.show_progress("querying Prometheus"):
            return metric_histories.read_metric_histories(server, metrics, found.nodes, times)

    def _audit_pods(self, decider: sessions.PodDecider) -> violations.AuditResult:
        """Return the violations of the running pods of a cluster."""
        from policysched.auditing import cluster_audit  # noqa: PLC0415 - not needed for `--help`

        if not decider.cluster.cache.snapshot().node_count:
            option = "--live" if self._args.cluster is None else "--cluster"
            raise errors.InputError(option, "has no Node; an audit judges pods on their nodes")
        with progress.show_progress("auditing pods"):
            return cluster_audit.audit_cluster(
                decider.choice.choose_framework, decider.cluster.cache.snapshot
            )
