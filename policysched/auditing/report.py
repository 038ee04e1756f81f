"""Make the report of an audit, in the form of schemas/audit.schema.json."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from policysched import clock as clocks
from policysched.auditing import moving, violations
from policysched.cluster.pods import pod_shape, workloads


def make_report(
    result: violations.AuditResult,
    at: datetime.datetime,
    policies: Sequence[str],
    policy_hash: str,
) -> dict[str, Any]:
    """Return the report of an audit at a time, under the policies in force."""
    by_rule = groupby(result.violations, key=lambda each: (each.rule.head.name, each.profile))
    return {
        "policies": list(policies),
        "policyHash": policy_hash,
        "time": at.isoformat(),
        "pods": result.pod_count,
        "violatingPods": result.count_violating_pods(),
        "rules": [_render_rule(list(found), at) for _, found in by_rule],
        "unknown": [
            {"rule": rule, "pods": count} for rule, count in sorted(result.unknown.items())
        ],
        "attemptRules": list(result.attempt_rules),
    }


def _render_rule(found: Sequence[violations.Violation], at: datetime.datetime) -> dict[str, Any]:
    """Return the violations of one rule, grouped by node."""
    head = found[0].rule.head
    by_node = groupby(found, key=lambda each: each.node)
    return {
        "policy": head.policy,
        "rule": head.name.removeprefix(f"{head.policy}/"),
        "profile": found[0].profile,
        "file": head.span.file,
        "line": head.span.line,
        "text": head.text,
        "pods": sum(len(each.pods) for each in found),
        "nodes": [{"node": node, "pods": _render_pods(on_node, at)} for node, on_node in by_node],
    }


def _render_pods(
    found: Iterable[violations.Violation], at: datetime.datetime
) -> list[dict[str, Any]]:
    return [_render_pod(info, each, at) for each in found for info in each.pods]


def _render_pod(
    info: pod_shape.PodInfo, violation: violations.Violation, at: datetime.datetime
) -> dict[str, Any]:
    metadata, age = info.pod.metadata, violation.age
    workload = workloads.find_workload(metadata)
    since = None if age is None else at - datetime.timedelta(seconds=age.seconds)
    return {
        "namespace": metadata.namespace,
        "name": metadata.name,
        "workload": None if workload is None else workload._asdict(),
        "reason": violation.reason,
        "evidence": violation.evidence,
        "since": None if since is None else since.isoformat(),
        "ageSeconds": None if age is None else age.seconds,
        "isAgeMinimum": age is not None and age.is_minimum,
        "podAgeSeconds": _find_pod_age_seconds(info, at),
    }


def render_moves(results: Sequence[moving.MoveResult], *, is_dry_run: bool) -> dict[str, Any]:
    """Return the outcome for each violator, for the field `moves`."""
    return {"dryRun": is_dry_run, "pods": [_render_move(each) for each in results]}


def _render_move(result: moving.MoveResult) -> dict[str, Any]:
    metadata = result.violator.pod.pod.metadata
    return {
        "namespace": metadata.namespace,
        "name": metadata.name,
        "node": result.violator.node,
        "target": result.target or None,
        "rules": list(result.violator.rules),
        "outcome": result.outcome.value,
        "reason": result.reason,
    }


def _find_pod_age_seconds(info: pod_shape.PodInfo, at: datetime.datetime) -> float | None:
    """Return how long a pod has existed; None if this is unknown."""
    created = clocks.parse_time(info.pod.metadata.creation_timestamp or "")
    return None if created is None else max(0.0, (at - created).total_seconds())
