"""The view of a binding: the report of `explain binding` in the form of the view of a pod.

Answers about clusters are arrays in the order of `BindingDecider.clusters`.
"""

from __future__ import annotations

from typing import Any

from policysched import amounts, units
from policysched.karmada import objects
from policysched.karmada.scheduler import triggers
from policysched.observability.live_page import filter_funnel
from policysched.offline import binding_sessions
from policysched.page import placement_statements

Report = dict[str, Any]
_FITS = -1
_BEST_CLUSTERS = 32
_MOST_NAMES = 20
_UNITS = {str(unit): unit for unit in units.NAMES}
_NO_ATTEMPT: Report = {
    "affinity": "",
    "verdicts": {},
    "feasible": 0,
    "ranking": [],
    "spreadConstraints": [],
    "selection": None,
    "division": None,
    "clusters": [],
    "errorKind": "",
    "error": "",
}


def make_binding_page(decider: binding_sessions.BindingDecider, key: str) -> Report:
    """Return the decision about a binding in the form of schemas/page-explain.schema.json.

    Raises:
        InputError: the binding does not exist.
    """
    binding = decider.find_binding(key)
    report = decider.make_report(binding)
    attempts = [_describe_attempt(each, decider) for each in report["attempts"]]
    return {
        "pod": binding.key,
        "profile": triggers.get_scheduler_name(binding),
        "policies": [each["policy"] for each in report["policies"]],
        "additions": placement_statements.name_additions(
            decider.loaded.policies, report["policies"]
        ),
        "priority": binding.spec.priority,
        "placedOn": None,
        "gate": "its scheduling is suspended" if binding.spec.suspension.scheduling else None,
        "message": report["error"],
        "nodeCount": len(decider.clusters.clusters),
        **_describe_attempt(choose_attempt(report), decider),
        "replicas": report["replicas"],
        "requests": _describe_requests(binding),
        "present": report["present"],
        "shares": report["clusters"],
        "errorKind": report["errorKind"],
        "observedAffinity": report["observedAffinity"],
        "attempts": attempts,
    }


def choose_attempt(report: Report) -> Report:
    """Return the attempt that decides: the last one if it succeeded, else the first."""
    attempts: list[Report] = report["attempts"]
    if not attempts:
        return _NO_ATTEMPT
    return attempts[0] if report["error"] else attempts[-1]


def _get_source_name(refusal: Report) -> str:
    """Return the name of what refuses a cluster: `POLICY/RULE` of a policy, or the plugin."""
    return f"{refusal['policy']}/{refusal['rule']}" if refusal["rule"] else str(refusal["plugin"])


def _describe_attempt(attempt: Report, decider: binding_sessions.BindingDecider) -> Report:
    """Return the fields of one attempt; those of pods have the same form and meaning."""
    ranking = attempt["ranking"]
    totals = {each["cluster"]: each["total"] for each in ranking}
    most = max(totals.values(), default=0)
    replicas = {each["name"]: each["replicas"] for each in attempt["clusters"]}
    best = [name for name, total in totals.items() if total == most]
    return {
        "affinity": attempt["affinity"],
        "feasible": attempt["feasible"],
        "best": best[:_MOST_NAMES],
        "bestCount": len(best),
        **_describe_refusals(attempt["verdicts"], decider),
        "totals": [totals.get(name) for name in attempt["verdicts"]],
        "rules": [
            {"name": each["rule"], "weight": each["weight"]}
            for each in (ranking[0]["rules"] if ranking else ())
        ],
        "ranking": [_describe_candidate(each) for each in ranking[:_BEST_CLUSTERS]],
        "spreadConstraints": attempt["spreadConstraints"],
        "selection": attempt["selection"],
        "division": attempt["division"],
        "shares": attempt["clusters"],
        "replicasOf": [replicas.get(name) for name in attempt["verdicts"]],
        "error": attempt["error"],
        "refused": {
            name: verdict["all"] for name, verdict in attempt["verdicts"].items() if verdict["all"]
        },
    }


def _describe_requests(binding: objects.Binding) -> dict[str, str]:
    """Return what each replica requests; {} if the workload has none, or several templates."""
    needs = binding.spec.replica_requirements
    return {} if needs is None else {k: str(v) for k, v in needs.resource_request.items()}


def _describe_candidate(candidate: Report) -> Report:
    return {
        "node": candidate["cluster"],
        "total": candidate["total"],
        "points": [each["weighted"] for each in candidate["rules"]],
        "measured": [_format_measured_value(each) for each in candidate["rules"]],
        "room": candidate["room"],
        "present": candidate["present"],
        "tier": candidate["tier"],
    }


def _format_measured_value(rule: Report) -> str:
    """Return the number behind the points of a rule; "" for points without a unit."""
    if "unit" not in rule:
        return ""
    if rule["raw"] is None:
        return "no data"
    unit = _UNITS.get(rule["unit"])
    return f"{rule['raw']:,.6g}" if unit is None else amounts.format_amount(rule["raw"], unit)


def _describe_refusals(verdicts: Report, decider: binding_sessions.BindingDecider) -> Report:
    """Return the first refusal of each cluster, and the clusters that each filter takes away."""
    numbers: dict[tuple[str, int | None, str], int] = {}
    of = []
    for verdict in verdicts.values():
        if verdict["ok"]:
            of.append(_FITS)
            continue
        first = verdict["all"][0]
        key = _get_source_name(first), first["line"], first["reason"]
        of.append(numbers.setdefault(key, len(numbers)))
    why = [
        {"by": by, "line": line, "code": "Unschedulable", "reason": reason}
        for by, line, reason in numbers
    ]
    return {"of": of, "why": why, "funnel": make_funnel(verdicts, decider)}


def make_funnel(verdicts: Report, decider: binding_sessions.BindingDecider) -> list[Report]:
    """Return the filters in the order in which they act, as `pod_verdicts.make_funnel` does.

    The filters of policies act after all plugins, ordered by name.
    """
    order = {plugin.name: number for number, plugin in enumerate(decider.algorithm.filters)}
    funnel = filter_funnel.FilterFunnel()
    for verdict in verdicts.values():
        if not verdict["ok"]:
            funnel.add_nodes([(_get_source_name(each), each["line"]) for each in verdict["all"]])
    names = sorted(funnel.list_filters(), key=lambda name: (order.get(name, len(order)), name))
    return funnel.make_steps(names, len(verdicts))


# --- one cluster ---------------------------------------------------------------------------------


def make_binding_cluster_page(
    decider: binding_sessions.BindingDecider, key: str, cluster: str
) -> Report:
    """Return every refusal of a binding by a cluster, the points of the cluster, and its share.

    Raises:
        InputError: the binding does not exist.
        LookupError: the cluster does not exist, or is being deleted.
    """
    binding = decider.find_binding(key)
    decider.find_cluster(cluster)
    report = decider.make_report(binding)
    attempt = choose_attempt(report)
    verdict = attempt["verdicts"].get(cluster, {"ok": False, "all": []})
    (candidate,) = [each for each in attempt["ranking"] if each["cluster"] == cluster] or [None]
    selected = attempt["selection"]["clusters"] if attempt["selection"] else []
    return {
        "pod": binding.key,
        "node": cluster,
        "fits": verdict["ok"],
        "rejections": verdict["all"],
        "points": None if candidate is None else _describe_points(candidate),
        "room": None if candidate is None else candidate["room"],
        "isSelected": cluster in selected,
        "present": _find_replicas(report["present"], cluster),
        "replicas": _find_replicas(report["clusters"], cluster),
    }


def _describe_points(candidate: Report) -> Report:
    points = {each["rule"]: each["weighted"] for each in candidate["rules"]}
    return points | {"total": candidate["total"]}


def _find_replicas(targets: list[Report], cluster: str) -> int | None:
    """Return the replicas on a cluster; None if it is not among the targets."""
    return next((each["replicas"] for each in targets if each["name"] == cluster), None)
