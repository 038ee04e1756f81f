"""What a change in the cluster means for a rule that rejected a pod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from policysched.cluster import snapshot
from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler.nodes import node_facts
from policysched.compiler.rules import (
    counting,
    node_affinity,
    pod_affinity,
    reject,
    topology_spread,
)

RowRule: TypeAlias = node_affinity.RequiredNodeAffinity | reject.Reject
"""Rules that decide a node by what is on its own row."""
PodsRule: TypeAlias = (
    pod_affinity.RequiredPodAffinity
    | pod_affinity.RequiredPodAntiAffinity
    | pod_affinity.RepellingPods
    | topology_spread.HardSpread
)
"""Rules that count pods in domains."""
FilterRule: TypeAlias = RowRule | PodsRule


def reads_node_change(rule: FilterRule, before: objects.Node, after: objects.Node) -> bool:
    """Return whether a node changed in something that the rule may read."""
    if not node_facts.have_equal_usual_facts(before, after):
        return True
    return isinstance(rule, RowRule) and rule.facts.is_changed(before, after)


def domain_changed(rule: PodsRule, before: objects.Node | None, after: objects.Node | None) -> bool:
    """Return whether a node moved from one domain of the rule to another, or into or out of it."""
    return _label_changed(rule.topology_key, before, after)


def _label_changed(key: str, before: objects.Node | None, after: objects.Node | None) -> bool:
    old = before.metadata.labels.get(key) if before else None
    new = after.metadata.labels.get(key) if after else None
    return old != new


def moves_spread(
    acting: Sequence[FilterRule],
    waiting: pod_shape.PodShape,
    before: objects.Node | None,
    after: objects.Node | None,
) -> bool:
    """Return whether a node changed what other nodes are compared with, or what they count."""
    own_keys = topology_spread.own_hard_keys(waiting)
    for rule in acting:
        if isinstance(rule, counting.CountingReject) and any(
            _label_changed(key, before, after) for key in rule.topology_keys
        ):
            return True
        if not isinstance(rule, topology_spread.HardSpread):
            continue
        old = before.spec.taints if before else ()
        new = after.spec.taints if after else ()
        retainted = rule.spread.eligible.honors_taints and old != new
        if retainted or domain_changed(rule, before, after):
            return True
        if any(_label_changed(key, before, after) for key in own_keys):
            return True
    return False


def counts_otherwise(
    rule: FilterRule,
    waiting: pod_shape.PodShape,
    before: pod_shape.PodShape | None,
    after: pod_shape.PodShape | None,
    snap: snapshot.Snapshot,
) -> bool:
    """Return whether a placed pod that came, went or changed may change the mind of a rule."""
    if isinstance(rule, counting.CountingReject) and not rule.reads.has_own_pods:
        return any(
            _is_counted(each, before, snap) != _is_counted(each, after, snap)
            for each in rule.queries(waiting)
        )
    if isinstance(rule, RowRule):
        return rule.reads.has_own_pods
    query = rule.query(waiting)
    was_counted = _is_counted(query, before, snap)
    is_counted = _is_counted(query, after, snap)
    if isinstance(rule, topology_spread.HardSpread):
        return was_counted != is_counted
    if isinstance(rule, pod_affinity.RequiredPodAffinity):
        is_last = was_counted and snap.counts.get_column(query).total == 0
        return is_last or (is_counted and not was_counted)
    return was_counted and not is_counted


def _is_counted(
    query: pod_counts.PodQuery, placed: pod_shape.PodShape | None, snap: snapshot.Snapshot
) -> bool:
    return placed is not None and query.matches(placed, snap.counts.namespaces)
