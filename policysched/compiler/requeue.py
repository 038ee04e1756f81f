"""When pods that a policy rejected are worth another attempt.

One plugin answers for all rules of a profile: an event helps a pod only if some node then passes
every rule that acts on the pod, whichever rule it was that changed its mind. Hints see no cycle, so
this looks at the cluster that it was last asked about; the columns of that are live, and the cache
is ahead of the queue.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import elapsed_time, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler import rule_changes
from policysched.compiler.rules import outage_hold, reject
from policysched.framework import cycle_state, events, interface, profile, status
from policysched.plugins import names
from policysched.plugins.shared import event_hints, memo

_MAX_SHAPES = 1024
_SKIP = interface.PreFilterResult(status.SKIP)
_NO_ROOM = interface.PostFilterResult(status.unschedulable(names.POLICY))
_METRICS = interface.Reads.METRICS
_MEASURED = interface.Reads.METRICS | interface.Reads.ANYTHING
"""What rules read of metrics and devices, of which one change can concern any number of nodes."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Baseline:
    """The nodes that passed the rules of a shape on metrics and devices in its last attempt.

    `stamp` is that of the samples and devices of this attempt.
    """

    stamp: tuple[int, ...]
    passing: columns.BoolArray
    helped: bool


class PolicyEvents:
    """Registers for the events of all filter rules of a profile; filters nothing itself."""

    name = names.POLICY
    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(
        self,
        rules: Sequence[rule_changes.FilterRule],
        tolerations: profile.TolerationsFn,
        hold: outage_hold.OutageHold | None = None,
    ) -> None:
        """Speak for `rules` and for `hold`; `tolerations` are those of the profile."""
        self._rules = rules
        self._hold = hold
        self._tolerations = tolerations
        self._last: snapshot.Snapshot | None = None
        self._acting_rules: memo.ShapeMemo[Sequence[rule_changes.FilterRule]] = memo.ShapeMemo()
        self._passing_nodes: memo.ShapeMemo[columns.BoolArray] = memo.ShapeMemo()
        self._baselines: OrderedDict[pod_shape.PodShape, _Baseline] = OrderedDict()
        self._former_node: tuple[objects.Node | None, snapshot.NodeView | None] = (None, None)

    # --- what is seen of scheduling cycles -------------------------------------------------------

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Remember the cluster; ask to be called again only for pods with a baseline."""
        self._last = snap
        measuring = (rule for rule in self._rules if rule.reads & _MEASURED)
        is_held = self._hold is not None and self._hold.applies_to(state, shape, snap)
        return is_held or any(rule.applies_to(state, shape, snap) for rule in measuring)

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Forget what was noted of an earlier attempt, under other samples or devices."""
        self._last = snap
        known = self._baselines.get(pod.shape)
        if known is not None and known.stamp != _stamp(snap):
            del self._baselines[pod.shape]
        return _SKIP

    def post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult:
        """Note which nodes passed the rules on metrics and devices in a failed attempt."""
        if pod.shape not in self._baselines and self._has_baseline(pod.shape, snap):
            self._note_baseline(pod, snap, self._passing_measured(pod, snap), helped=False)
        return _NO_ROOM

    # --- events ----------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Return the events that can change the mind of a rule of this profile."""
        if not self._rules and self._hold is None:
            return ()
        resource, action = events.EventResource, events.ActionType
        facts = action.UPDATE_NODE_LABEL | action.UPDATE_NODE_TAINT
        for rule in self._rules:
            if isinstance(rule, rule_changes.RowRule):
                facts |= rule.facts.actions
        node = action.ADD | action.DELETE | facts | action.UPDATE_NODE_ALLOCATABLE
        placed = action.ADD | action.DELETE | action.UPDATE_POD_LABEL | action.UPDATE_POD_SCALE_DOWN
        placed |= action.STORAGE
        registered = [
            event_hints.make_event_registration(resource.NODE, node, self._after_node_change),
            event_hints.make_event_registration(
                resource.UNSCHEDULED_POD, action.UPDATE, event_hints.after_own_shape_change
            ),
            event_hints.make_event_registration(
                resource.UNSCHEDULED_POD, action.AGE | action.STORAGE, self._after_other_shape
            ),
            event_hints.make_event_registration(resource.NODE, action.AGE, self._after_node_age),
            event_hints.make_event_registration(
                resource.NAMESPACE, action.ALL, self._after_namespace_change
            ),
            event_hints.make_event_registration(resource.POLICY, action.ALL),
        ]
        if any(rule.reads.has_placed_pods for rule in self._rules):
            registered.append(
                event_hints.make_event_registration(resource.POD, placed, self._after_pod_change)
            )
        if self._hold is not None or any(_METRICS in rule.reads for rule in self._rules):
            registered.append(
                event_hints.make_event_registration(
                    resource.METRIC, action.ALL, self._after_measured_change
                )
            )
        if any(interface.Reads.ANYTHING in rule.reads for rule in self._rules):
            registered += [
                event_hints.make_event_registration(kind, action.ALL, self._after_measured_change)
                for kind in (
                    resource.RESOURCE_CLAIM,
                    resource.RESOURCE_SLICE,
                    resource.DEVICE_CLASS,
                )
            ]
        return registered

    def _after_node_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        snap = self._now()
        if snap is None:
            return events.QueueingHint.QUEUE
        before = old if isinstance(old, objects.Node) else None
        after = new if isinstance(new, objects.Node) else None
        acting = self._acting(pod.shape, snap)
        if rule_changes.moves_spread(acting, pod.shape, before, after):
            return event_hints.choose_queueing_hint(bool(self._passing(pod, snap).any()))
        if after is None:
            return events.QueueingHint.SKIP
        row = snap.nodes.row_of.get(after.name)
        if row is None or not self._passing(pod, snap)[row]:
            return events.QueueingHint.SKIP
        return event_hints.choose_queueing_hint(
            before is None or self._mattered(pod, snap, before, after)
        )

    def _after_pod_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        snap = self._now()
        if snap is None:
            return events.QueueingHint.QUEUE
        before = old.shape if isinstance(old, pod_shape.PodInfo) else None
        after = new.shape if isinstance(new, pod_shape.PodInfo) else None
        changed = any(
            rule_changes.counts_otherwise(rule, pod.shape, before, after, snap)
            for rule in self._acting(pod.shape, snap)
        )
        return event_hints.choose_queueing_hint(changed and bool(self._passing(pod, snap).any()))

    def _after_measured_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue when a node passes that did not pass the rules on metrics and devices before."""
        snap = self._now()
        known = self._baselines.get(pod.shape)
        if snap is None:
            return events.QueueingHint.QUEUE
        if known is None:
            return event_hints.choose_queueing_hint(self._has_baseline(pod.shape, snap))
        if known.stamp != _stamp(snap):
            passing = self._passing_measured(pod, snap)
            before = np.zeros(snap.size, np.bool_)
            before[: len(known.passing)] = known.passing
            helped = bool((passing & ~before).any())
            known = self._note_baseline(pod, snap, passing, helped=helped)
        return event_hints.choose_queueing_hint(known.helped)

    def _after_namespace_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue when labels of a namespace changed and a node passes all rules."""
        snap = self._now()
        if snap is None:
            return events.QueueingHint.QUEUE
        return event_hints.choose_queueing_hint(bool(self._passing(pod, snap).any()))

    def _after_other_shape(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue when a node passes all rules that did not for the former shape of the pod.

        A time of the pod grew, or one of its claims changed.
        """
        snap = self._now()
        if snap is None or not isinstance(old, pod_shape.PodInfo):
            return events.QueueingHint.QUEUE
        opened = self._passing(pod, snap) & ~self._passing(old, snap)
        return event_hints.choose_queueing_hint(bool(opened.any()))

    def _after_node_age(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue when a node passes all rules that may not have passed one while it was younger."""
        snap = self._now()
        if snap is None or not isinstance(new, objects.Node):
            return events.QueueingHint.QUEUE
        row = snap.nodes.row_of.get(new.name)
        if row is None or not self._passing(pod, snap)[row]:
            return events.QueueingHint.SKIP
        was_rejected = any(
            self._rejected_younger(rule, pod.shape, new, snap)
            for rule in self._acting(pod.shape, snap)
            if isinstance(rule, reject.Reject)
        )
        return event_hints.choose_queueing_hint(was_rejected)

    def _rejected_younger(
        self,
        rule: reject.Reject,
        shape: pod_shape.PodShape,
        node: objects.Node,
        snap: snapshot.Snapshot,
    ) -> bool:
        """Return whether a rule may have rejected a node before it reached an age."""
        for reached_seconds in elapsed_time.list_age_changes(node.metadata, rule.node_ages):
            if reached_seconds > snap.now_seconds:
                continue
            before = datetime.datetime.fromtimestamp(reached_seconds - 1, datetime.UTC)
            if rule.reads != interface.Reads.NODE:
                return True
            if rule.rejects_elsewhere(self._alone(node, snap, before), shape):
                return True
        return False

    # --- the cluster now -------------------------------------------------------------------------

    def _now(self) -> snapshot.Snapshot | None:
        """Return the cluster as it is, at the last time that is known."""
        last = self._last
        if last is None:
            return None
        now = max(last.now, last.metrics.moment or last.now)
        return snapshot.Snapshot(
            last.nodes,
            last.counts,
            last.metrics,
            now,
            last.placed,
            last.nominated,
            devices=last.devices,
        )

    def _acting(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> Sequence[rule_changes.FilterRule]:
        """Return the rules that act on pods of `shape`."""
        stamp = (snap.counts, snap.counts.namespaces_generation, snap.now)

        def find() -> Sequence[rule_changes.FilterRule]:
            state = cycle_state.CycleState(self._tolerations(shape, snap))
            return [rule for rule in self._rules if rule.applies_to(state, shape, snap)]

        return self._acting_rules.get_or_compute(shape, stamp, find)

    def _has_baseline(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> bool:
        """Return whether metrics or devices decide about pods of `shape`."""
        if self._hold is not None and self._hold.applies_to(cycle_state.CycleState(), shape, snap):
            return True
        return any(rule.reads & _MEASURED for rule in self._acting(shape, snap))

    def _passing(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> columns.BoolArray:
        """Return bool (N,): the nodes that pass all rules that act on the pod."""
        nodes = snap.nodes
        stamp = (
            nodes,
            nodes.node_changes.generation,
            nodes.usage_changes.generation,
            _stamp(snap),
            snap.counts.namespaces_generation,
            snap.now,
        )

        def find() -> columns.BoolArray:
            state = cycle_state.CycleState(self._tolerations(pod.shape, snap))
            passing = self._not_held(pod, snap)
            for rule in self._acting(pod.shape, snap):
                passing &= rule.filter(state, pod, snap.view_all_rows()).passes
            return passing

        return self._passing_nodes.get_or_compute(pod.shape, stamp, find)

    def _passing_measured(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> columns.BoolArray:
        """Return bool (N,): the nodes that pass the rules that read metrics or devices."""
        passing = self._not_held(pod, snap)
        for rule in self._acting(pod.shape, snap):
            if rule.reads & _MEASURED:
                state = cycle_state.CycleState()
                passing &= rule.filter(state, pod, snap.view_all_rows()).passes
        return passing

    def _not_held(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> columns.BoolArray:
        """Return bool (N,), to be written to: all nodes, or none while the pod has to wait."""
        is_held = self._hold is not None and self._hold.outage_of(pod.shape, snap) is not None
        return np.zeros(snap.size, np.bool_) if is_held else snap.is_alive.copy()

    def _note_baseline(
        self,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        passing: columns.BoolArray,
        *,
        helped: bool,
    ) -> _Baseline:
        made = _Baseline(_stamp(snap), passing, helped)
        self._baselines[pod.shape] = made
        self._baselines.move_to_end(pod.shape)
        if len(self._baselines) > _MAX_SHAPES:
            self._baselines.popitem(last=False)
        return made

    def _mattered(
        self,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        before: objects.Node,
        after: objects.Node,
    ) -> bool:
        """Return whether a node that passes now may have been rejected as it was before."""
        alone = self._alone(before, snap, snap.now)
        for rule in self._acting(pod.shape, snap):
            if not rule_changes.reads_node_change(rule, before, after):
                continue
            if isinstance(rule, rule_changes.RowRule):
                if rule.reads != interface.Reads.NODE or rule.rejects_elsewhere(alone, pod.shape):
                    return True
            elif rule_changes.domain_changed(rule, before, after):
                return True
        return False

    def _alone(
        self, node: objects.Node, snap: snapshot.Snapshot, now: datetime.datetime
    ) -> snapshot.NodeView:
        """Return a view of a node that is no longer in the cluster as it was, at a time.

        Of the rest of the cluster, its snapshot has the labels of namespaces.
        """
        known, view = self._former_node
        if known is not node or view is None or view.snapshot.now != now:
            alone = columns.NodeColumns()
            alone.set_node(node)
            view = snapshot.Snapshot(
                alone, snap.counts, metric_table.MetricTable(), now
            ).view_all_rows()
            self._former_node = node, view
        return view


def _stamp(snap: snapshot.Snapshot) -> tuple[int, ...]:
    """Return what changes with every refresh of samples or look at their age, and with devices."""
    devices = snap.devices
    return (
        snap.metrics.generation,
        snap.metrics.looks,
        devices.slices.changes.generation,
        devices.classes.generation,
        devices.allocated.changes.generation,
    )


if TYPE_CHECKING:
    _pre_filter: type[interface.PreFilterPlugin] = PolicyEvents
    _post_filter: type[interface.PostFilterPlugin] = PolicyEvents
    _events: type[interface.EventsPlugin] = PolicyEvents
    _scoped: type[interface.ScopedPlugin] = PolicyEvents
