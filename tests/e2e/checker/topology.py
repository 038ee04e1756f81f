"""Rules that compare the pods of topology domains: affinity, anti-affinity, spread.

Pods of one workload carry the same terms, so the pods that a term means are found once for all its
carriers: a term is told apart by its text, the labels that it takes from its carrier included.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.e2e.checker import matching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tests.e2e.checker import cluster_state, demands

    Object: TypeAlias = Mapping[str, Any]
    Namespaces: TypeAlias = Mapping[str, Mapping[str, str]]
    Placed: TypeAlias = cluster_state.Placed


@dataclasses.dataclass(frozen=True)
class _Group:
    """Pods that carry the same demand.

    Attributes:
        source: who demands it.
        demand: the terms or the constraint, as they stand in the spec.
        carriers: the pods.
    """

    source: str
    demand: Any
    carriers: list[Placed]


# --- anti-affinity --------------------------------------------------------------------------------


def anti_affinity_violations(placed: Sequence[Placed], namespaces: Namespaces) -> Iterator[str]:
    """Say which pods lie in one domain with a pod that a term of theirs repels.

    It does not matter which of the two came first: the rule is symmetric.
    """
    for group in _groups(placed, lambda of: of.anti_affinity):
        topology_key = group.demand["topologyKey"]
        meant = _meant([group.demand], group.carriers[0], placed, namespaces)
        by_domain = _by_domain(topology_key, meant)
        for carrier in group.carriers:
            domain = _domain(topology_key, carrier.node)
            others = [one for one in by_domain.get(domain, ()) if one is not carrier]
            if domain is not None and others:
                yield (
                    f"{carrier}: required anti-affinity of {group.source} repels {others[0].name}"
                    f" in {topology_key}={domain}"
                )


# --- affinity -------------------------------------------------------------------------------------


def affinity_violations(placed: Sequence[Placed], namespaces: Namespaces) -> Iterator[str]:
    """Say which pods lie in a domain without a pod that satisfies all their affinity terms.

    A pod that its own terms mean may be the first one of all, so one domain may have been begun by
    the carriers themselves.
    """
    for group in _groups(placed, lambda of: [of.affinity] if of.affinity else []):
        meant = _meant(group.demand, group.carriers[0], placed, namespaces)
        for topology_key in sorted({term["topologyKey"] for term in group.demand}):
            yield from _lone_carriers(group, topology_key, meant)


def _lone_carriers(group: _Group, topology_key: str, meant: list[Placed]) -> Iterator[str]:
    what = f"required affinity of {group.source} by {topology_key}"
    meant_by_domain = _by_domain(topology_key, meant)
    carrier_ids = {id(one) for one in group.carriers}
    begun_by_carriers: list[Placed] = []
    for domain, carriers in _by_domain(topology_key, group.carriers).items():
        found = meant_by_domain.get(domain, [])
        if domain is None or not found:
            yield from (f"{carrier}: {what} finds no pod there" for carrier in carriers)
        elif all(id(one) in carrier_ids for one in found):
            begun_by_carriers.append(carriers[0])
    for carrier in begun_by_carriers[1:]:
        yield f"{carrier}: {what} finds only pods like itself, and others elsewhere"


# --- spread ---------------------------------------------------------------------------------------


def spread_violations(placed: Sequence[Placed], nodes: Iterable[Object]) -> Iterator[str]:
    """Say in which domains a constraint that forbids has more pods than it allows."""
    all_nodes = list(nodes)
    for group in _groups(placed, lambda of: [c for c in of.spread if _forbids(c)]):
        by_nodes = collections.defaultdict(list)
        for carrier in group.carriers:
            by_nodes[_eligibility(carrier, group.demand)].append(carrier)
        for carriers in by_nodes.values():
            first = carriers[0]
            eligible = [n for n in all_nodes if _is_eligible(n, first, group.demand)]
            yield from _skewed(group, carriers, eligible, placed)


def _skewed(
    group: _Group, carriers: list[Placed], eligible: list[Object], placed: Sequence[Placed]
) -> Iterator[str]:
    constraint, topology_key = group.demand, group.demand["topologyKey"]
    counts = {_domain(topology_key, node): 0 for node in eligible}
    names = {node["metadata"]["name"] for node in eligible}
    for one in _counted(constraint, carriers[0].pod, placed):
        if one.node["metadata"]["name"] in names:
            counts[_domain(topology_key, one.node)] += 1
    fewest = min(counts.values(), default=0)
    if len(counts) < (constraint.get("minDomains") or 1):
        fewest = 0
    for domain, inside in _by_domain(topology_key, carriers).items():
        count = counts.get(domain)
        if count is None:
            yield f"{inside[0]}: the node is not one that {topology_key} spread counts"
        elif count - fewest > constraint["maxSkew"]:
            yield (
                f"{inside[0]}: spread of {group.source}: {count} pods in {topology_key}={domain},"
                f" {fewest} in the least, maxSkew {constraint['maxSkew']}"
            )


def _counted(constraint: Object, owner: Object, placed: Iterable[Placed]) -> Iterator[Placed]:
    namespace = owner["metadata"]["namespace"]
    labels = owner["metadata"].get("labels") or {}
    keys = [key for key in constraint.get("matchLabelKeys") or [] if key in labels]
    for one in placed:
        metadata = one.pod["metadata"]
        other_labels = metadata.get("labels") or {}
        if (
            metadata["namespace"] == namespace
            and not metadata.get("deletionTimestamp")
            and matching.selector_holds(constraint.get("labelSelector"), other_labels)
            and all(other_labels.get(key) == labels[key] for key in keys)
        ):
            yield one


def _forbids(constraint: Object) -> bool:
    return bool(constraint["whenUnsatisfiable"] == "DoNotSchedule")


def _spread_keys(carrier: Placed) -> list[str]:
    return sorted(c["topologyKey"] for one in carrier.demands for c in one.spread if _forbids(c))


def _eligibility(carrier: Placed, constraint: Object) -> str:
    """Return what tells pods apart whose constraint looks at different nodes."""
    spec = carrier.pod["spec"]
    return _text(
        [
            spec.get("nodeSelector"),
            (spec.get("affinity") or {}).get("nodeAffinity"),
            _spread_keys(carrier),
            carrier.tolerations if constraint.get("nodeTaintsPolicy") == "Honor" else None,
            [constraint.get("matchLabelKeys") and carrier.pod["metadata"].get("labels")],
        ]
    )


def _is_eligible(node: Object, carrier: Placed, constraint: Object) -> bool:
    labels = node["metadata"].get("labels") or {}
    if not all(key in labels for key in _spread_keys(carrier)):
        return False
    if (constraint.get("nodeAffinityPolicy") or "Honor") == "Honor":
        wanted = carrier.pod["spec"].get("nodeSelector") or {}
        if any(labels.get(key) != value for key, value in wanted.items()):
            return False
        # The pod's own affinity alone: what policies demand narrows its nodes, not its domains.
        if not all(
            matching.node_selector_holds(selector, node)
            for selector in carrier.demands[0].node_selectors
        ):
            return False
    if constraint.get("nodeTaintsPolicy") == "Honor":
        return all(
            matching.is_tolerated(taint, carrier.tolerations)
            for taint in node["spec"].get("taints") or []
            if taint["effect"] in ("NoSchedule", "NoExecute")
        )
    return True


# --- all ------------------------------------------------------------------------------------------


def _groups(
    placed: Sequence[Placed], pick: Callable[[demands.Demands], Sequence[Any]]
) -> Iterator[_Group]:
    """Give the pods that carry the same demand in the same namespace together."""
    found: dict[str, _Group] = {}
    for one in placed:
        for part in one.demands:
            for demand in pick(part):
                identity = _text([one.pod["metadata"]["namespace"], part.source, demand])
                group = found.setdefault(identity, _Group(part.source, demand, []))
                group.carriers.append(one)
    yield from found.values()


def _meant(
    terms: Sequence[Object], carrier: Placed, placed: Sequence[Placed], namespaces: Namespaces
) -> list[Placed]:
    """Return the pods that satisfy all terms of `carrier`."""

    @functools.cache
    def is_meant(namespace: str, labels: str) -> bool:
        pod = {"metadata": {"namespace": namespace, "labels": json.loads(labels)}}
        return all(matching.term_holds(term, carrier.pod, pod, namespaces) for term in terms)

    return [
        one
        for one in placed
        if is_meant(
            one.pod["metadata"]["namespace"], _text(one.pod["metadata"].get("labels") or {})
        )
    ]


def _by_domain(topology_key: str, placed: Iterable[Placed]) -> dict[str | None, list[Placed]]:
    domains: dict[str | None, list[Placed]] = {}
    for one in placed:
        domains.setdefault(_domain(topology_key, one.node), []).append(one)
    return domains


def _domain(topology_key: str, node: Object) -> str | None:
    domain: str | None = (node["metadata"].get("labels") or {}).get(topology_key)
    return domain


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
