"""Makes the report of `explain`: the decision for a pending pod, considered alone, and its reasons.

The report follows schemas/explain.schema.json.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from policysched import errors, spelling
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import explanation, node_evidence, runtime, shadow, status
from policysched.framework.scoring import score_table
from policysched.offline import changing_times, metric_evidence, offline_cluster
from policysched.plugins.dynamic_resources import released_claims

OnNode: TypeAlias = Callable[[status.Status, str], tuple[str, ...]]
"""Returns the evidence for each reason of a rejection; empty for nodes outside `evidence_of`."""
_Detail: TypeAlias = tuple[str | None, tuple[str, ...]]
_MAX_NAMES_COMPARED = 2000
"""The maximum number of names to search for a similar one, which bounds the search time."""


@contextlib.contextmanager
def make_pod_pending(
    cluster: offline_cluster.OfflineCluster, key: str
) -> Iterator[pod_shape.PodInfo]:
    """Yield the pod called `namespace/name` (or `name` in `default`) as a pending pod.

    A placed pod is not on its node meanwhile, and its devices are free, so that it can be scheduled
    again.

    Raises:
        InputError: the pod does not exist, has ended or is being deleted.
    """
    name = key if "/" in key else f"default/{key}"
    placed = cluster.placed.get(name)
    if placed is None:
        yield _find_pending_pod(cluster, name)
        return
    spec = msgspec.structs.replace(placed.pod.spec, node_name="")
    cluster.cache.remove_pod(placed)
    try:
        with released_claims.suppose_released(placed, cluster.cache.devices.claims):
            yield cluster.shapes.make_pod_info(msgspec.structs.replace(placed.pod, spec=spec))
    finally:
        cluster.cache.add_pod(placed)


def _find_pending_pod(cluster: offline_cluster.OfflineCluster, name: str) -> pod_shape.PodInfo:
    """Return the pending pod called `namespace/name`, or raise InputError."""
    for info in cluster.pending:
        if info.key == name:
            return info
    if name in cluster.passed_over:
        raise errors.InputError(f"`{name}`", f"the pod {cluster.passed_over[name]}")
    raise _make_unknown_pod_error(cluster, name)


def _make_unknown_pod_error(
    cluster: offline_cluster.OfflineCluster, name: str
) -> errors.InputError:
    """Return the error for an unknown pod, which suggests pods with the same or a similar name."""
    known = [info.key for info in cluster.pending] + list(cluster.placed)
    namesakes = [key for key in known if key.endswith(f"/{name.rsplit('/', 1)[-1]}")]
    if namesakes:
        advice = f"there is {spelling.join_alternatives(f'`{key}`' for key in namesakes[:3])}"
    else:
        advice = spelling.suggest_names(name, known[:_MAX_NAMES_COMPARED])
    return errors.InputError(
        f"`{name}`", "no such pod is pending or running in the cluster", help=advice
    )


def make_pod_report(
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    candidates: Sequence[shadow.Candidate] = (),
    evidence_of: Collection[str] | None = (),
) -> dict[str, object]:
    """Return the report about one pod in the form of the schema, including metric evidence.

    `candidates` are the shadow policies to evaluate. The report contains the evidence behind each
    reason for the nodes in `evidence_of`; None means all nodes.
    """
    return make_report_from_explanation(
        framework, framework.explain_pod(info, snap), snap, candidates, evidence_of
    )


def make_report_from_explanation(
    framework: runtime.Framework,
    found: explanation.Explanation,
    snap: snapshot.Snapshot,
    candidates: Sequence[shadow.Candidate] = (),
    evidence_of: Collection[str] | None = (),
) -> dict[str, object]:
    """Return the report for an existing explanation; see `make_pod_report` for the arguments."""
    info = found.pod
    measured = metric_evidence.PodMetricEvidence(framework.profile.plugins, info.shape, snap)
    evidence = collect_rejection_evidence(framework, info, snap)

    def on_node(answer: status.Status, node: str) -> tuple[str, ...]:
        is_asked = evidence_of is None or node in evidence_of
        return evidence.on_node(answer, snap.nodes.row_of[node]) if is_asked else ()

    told = _make_explanation_report(found, snap.nodes, measured, on_node)
    if found.feasible_count == 0:
        told |= _render_changing_times(framework, found, snap)
    if candidates:
        real = framework.schedule_pod(info, snap)
        verdicts = shadow.decide_all(candidates, info, snap, real)
        if verdicts:
            told["shadow"] = [verdict.as_json() for verdict in verdicts]
    return told


def _render_changing_times(
    framework: runtime.Framework, found: explanation.Explanation, snap: snapshot.Snapshot
) -> dict[str, object]:
    """Return the times of the pod for which rules wait that reject it, if there are any."""
    answers = (answer for verdict in found.verdicts for answer in list_node_failures(verdict))
    times = [
        {"policy": rule.policy, "rule": rule.rule, "line": rule.line, "time": text}
        for rule, text in changing_times.list_changing_times(framework, found.pod, snap, answers)
    ]
    return {"times": times} if times else {}


def collect_rejection_evidence(
    framework: runtime.Framework, info: pod_shape.PodInfo, snap: snapshot.Snapshot
) -> node_evidence.NodeEvidence:
    """Return the evidence behind the rejections of a pod."""
    prof = framework.profile
    tolerations = prof.tolerations(info.shape, snap)
    return node_evidence.NodeEvidence(prof.plugins, info, snap, tolerations)


def _make_explanation_report(
    found: explanation.Explanation,
    nodes: columns.NodeColumns,
    measured: metric_evidence.PodMetricEvidence,
    evidence: OnNode,
) -> dict[str, object]:
    """Return the report of an explanation, from which both text and JSON output are made.

    `nodes` contains the rows of its nodes. The form is schemas/explain.schema.json.
    """
    report: dict[str, object] = {"pod": found.pod.key}
    if found.gate is not None:
        report["gated"] = _render_status(found.gate)
    report["prefilter"] = None if found.pre_filter is None else _render_status(found.pre_filter)
    report["nodes"] = _render_nodes(found.verdicts, nodes, measured, evidence)
    report["feasible"] = found.feasible_count
    report["scores"] = {} if found.scores is None else _render_scores(found.scores, nodes.names)
    report["best"] = found.best
    report["message"] = found.message
    return report | measured.as_json()


def _render_status(answer: status.Status) -> dict[str, object]:
    return {
        "plugin": answer.plugin,
        "code": answer.code.value,
        "reasons": list(answer.reasons),
    }


def _render_nodes(
    verdicts: list[explanation.NodeVerdict],
    nodes: columns.NodeColumns,
    measured: metric_evidence.PodMetricEvidence,
    evidence: OnNode,
) -> dict[str, object]:
    """Return node → verdict; nodes with equal verdicts share one object."""
    made: dict[tuple[object, ...], object] = {}
    found: dict[str, object] = {}
    for verdict in verdicts:
        answers = list_node_failures(verdict)
        row = nodes.row_of[verdict.name]
        details = tuple(
            (measured.describe_rule_reading(answer.rule, row), evidence(answer, verdict.name))
            for answer in answers
        )
        key = (id(verdict.first), *map(id, verdict.all_failures), *details)
        if key not in made:
            made[key] = _render_verdict(verdict.first, zip(answers, details, strict=True))
        found[verdict.name] = made[key]
    return found


def _render_verdict(
    first: status.Status, answers: Iterable[tuple[status.Status, _Detail]]
) -> dict[str, object]:
    if first.is_success:
        return {"ok": True, "plugin": "", "code": "", "reasons": [], "all": []}
    failures = [
        failure for answer, detail in answers for failure in _render_failures(answer, detail)
    ]
    return {"ok": False, **_render_status(first), "all": failures}


def list_node_failures(verdict: explanation.NodeVerdict) -> tuple[status.Status, ...]:
    """Return every failure on a node, including the deciding one."""
    if verdict.first.is_success or verdict.first in verdict.all_failures:
        return verdict.all_failures
    return (verdict.first, *verdict.all_failures)


def _render_failures(answer: status.Status, detail: _Detail) -> list[dict[str, object]]:
    """Return an entry for each reason of a failure, with its rule and evidence."""
    rule = answer.rule
    measured = {} if detail[0] is None else {"measured": detail[0]}
    evidence = detail[1] or [""] * len(answer.reasons)
    return [
        {
            "plugin": answer.plugin,
            "code": answer.code.value,
            "reason": reason,
            "policy": rule.policy if rule else None,
            "rule": rule.rule if rule else None,
            "line": rule.line if rule else None,
            **measured,
            **({"evidence": text} if text else {}),
        }
        for reason, text in zip(answer.reasons, evidence, strict=True)
    ]


def _render_scores(
    table: score_table.ScoreTable, names: list[str]
) -> dict[str, dict[str, int | float]]:
    """Return node → plugin → weighted points, with the key `total` for their sum."""
    columns = {name: points.tolist() for name, points in table.by_plugin.items()}
    totals = table.totals.tolist()
    return {
        names[row]: {
            **{plugin: score_table.points(values[i]) for plugin, values in columns.items()},
            "total": score_table.points(totals[i]),
        }
        for i, row in enumerate(table.rows.tolist())
    }
