"""Reports of `explain pod` about small clusters, checked against the schema."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Sequence
from typing import Any

from policysched import clock as clocks
from policysched.explaining import pod_explaining, trials
from policysched.inputs import cluster_file, metrics_file
from policysched.lang import source
from policysched.offline import sessions
from policysched.profiles import policies
from tests import builders, report_schemas
from tests.cli import clusters

Object = dict[str, Any]
Report = dict[str, Any]

_SCHEMA = report_schemas.load_validator("explain")
_TAINT = re.compile(r"(?P<key>[^=:]+)(=(?P<value>[^:]*))?:(?P<effect>\w+)")
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def decider(
    items: Sequence[Object], policy: str = "", metrics: dict[str, dict[str, Any]] | None = None
) -> sessions.PodDecider:
    """Return what decides the pods of a cluster of `items`."""
    policy_set = _policy_set(policy)
    samples = metrics_file.parse_metrics_text(
        json.dumps(metrics or {}), "metrics", policy_set.node_metrics, builders.EPOCH
    ).samples
    found = cluster_file.parse_cluster(json.dumps(clusters.list_of(*items)).encode(), "cluster")
    return sessions.DeciderFactory(policy_set, builders.EPOCH, samples).make_decider(
        found, "cluster"
    )


@functools.lru_cache(maxsize=8)  # a drawn world is decided many times by the same policies
def _policy_set(policy: str) -> policies.PolicySet:
    if not policy:
        return policies.load_policy_set((), {})
    return policies.make_policy_set_from_texts([source.SourceText("t.policy", policy)], {})


def study_pod(
    items: Sequence[Object],
    policy: str = "",
    metrics: dict[str, dict[str, Any]] | None = None,
    pod: str = "prod/p",
    node: str | None = None,
    limits: trials.TrialLimits | None = None,
) -> Report:
    """Return the report about a pod, with all numbers and names; no time passes."""
    clock = clocks.ManualClock(builders.EPOCH)
    report = pod_explaining.explain_pod(
        decider(items, policy, metrics), pod, clock, limits, node, None
    )
    _SCHEMA.validate([report])
    return report


def feasible(items: Sequence[Object], policy: str = "", metrics: Any = None) -> set[str]:
    """Return where `prod/p` fits, decided on a cluster of its own."""
    report = decider(items, policy, metrics).explain_pod("prod/p")
    return {name for name, verdict in report["nodes"].items() if verdict["ok"]}


def best(items: Sequence[Object], policy: str = "", metrics: Any = None) -> set[str]:
    """Return the best nodes of `prod/p`, decided on a cluster of its own."""
    return set(decider(items, policy, metrics).explain_pod("prod/p")["best"])


# --- what a person would do ----------------------------------------------------------------------


def edited(items: Sequence[Object], edit: Report, node: str, to: str | None = None) -> list[Object]:
    """Return the cluster with an edit made as its JSON form says, by hand so to speak.

    Args:
        items: the cluster.
        edit: of a pod, or of the node `node`.
        node: for edits of nodes.
        to: instead of what the edit says.
    """
    several = copy.deepcopy(list(items))
    if edit["kind"] == "pod":
        return [each for each in several if f"prod/{each['metadata']['name']}" != edit["from"]]
    after = edit["to"] if to is None else to
    if edit["target"] == "pod":
        (pod,) = (each for each in several if each["metadata"]["name"] == "p")
        _edit_pod(pod["spec"], pod["metadata"]["labels"], edit, after)
    else:
        (found,) = (each for each in several if each["metadata"]["name"] == node)
        _edit_node(found, edit, after)
    return several


def _edit_pod(spec: Object, labels: Object, edit: Report, after: str | None) -> None:
    match edit["kind"]:
        case "nodeSelector":
            key = edit["what"].removeprefix("spec.nodeSelector[").removesuffix("]")
            value = spec["nodeSelector"].pop(key)
            if after is not None and edit["from"] == key:
                spec["nodeSelector"][after] = value
            elif after is not None:
                spec["nodeSelector"][key] = after
        case "toleration":
            spec.setdefault("tolerations", []).append(_toleration(after or ""))
        case "requests":
            resource = edit["what"].partition("[")[2].removesuffix("]")
            spec["containers"][0]["resources"]["requests"][resource] = after
        case "label":
            key = edit["what"].removeprefix("metadata.labels[").removesuffix("]")
            labels.pop(key, None)
            labels |= {} if after is None else {key: after}
        case "hostPort":
            number = int(edit["from"].partition("/")[0])
            ports = spec["containers"][0]["ports"]
            spec["containers"][0]["ports"] = [p for p in ports if p["hostPort"] != number]
        case "topologySpread":
            field = edit["text"].partition(" of ")[0]
            value = int(after or "0") if field in ("maxSkew", "minDomains") else after
            spec["topologySpreadConstraints"][0][field] = value
        case other:
            raise NotImplementedError(other)


def _edit_node(node: Object, edit: Report, after: str | None) -> None:
    spec = node["spec"]
    match edit["kind"]:
        case "uncordon":
            spec["unschedulable"] = False
            spec["taints"] = [t for t in spec.get("taints", ()) if t["key"] != _UNSCHEDULABLE]
        case "taint":
            gone = _taint(edit["from"])
            spec["taints"] = [t for t in spec["taints"] if {"value": "", **t} != gone]
        case "label":
            key, _, value = (after or edit["from"]).partition("=")
            node["metadata"]["labels"].pop(key, None)
            if after is not None:
                node["metadata"]["labels"][key] = value
        case other:
            raise NotImplementedError(other)


def _toleration(text: str) -> Object:
    if text.startswith("{"):
        return dict(part.split(": ") for part in text.strip("{}").split(", "))
    taint = _taint(text)
    return {**taint, "operator": "Equal" if taint["value"] else "Exists"}


def _taint(text: str) -> Object:
    match = _TAINT.fullmatch(text)
    assert match is not None
    return {"key": match["key"], "value": match["value"] or "", "effect": match["effect"]}
