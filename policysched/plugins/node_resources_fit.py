"""NodeResourcesFit: reject nodes without enough free resources, and score by utilisation.

Source: `plugins/noderesources/fit.go` and `resource_allocation.go`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from policysched import amounts
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.devices import classes
from policysched.cluster.objects import device_objects, objects
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.framework import cycle_state, events, handles, interface, status
from policysched.kernels import resources
from policysched.plugins import arguments, names
from policysched.plugins.kernels import allocation, row_writer
from policysched.plugins.shared import event_hints, resource_arguments, scored_devices

TOO_MANY_PODS = "Too many pods"
_PODS = "pods"
_MAX_KEYS = 2_000
_NATIVE = (pod_requests.CPU, pod_requests.MEMORY, pod_requests.EPHEMERAL_STORAGE)


@dataclasses.dataclass(frozen=True)
class _ComparedRequests:
    """The requests of one shape that Filter compares: r resources, in the order of the reasons.

    Attributes:
        ids: intp (r,), the columns of the resources.
        amounts: int64 (r,), the requested amounts.
        by_class: uint8 (r,), 1 for resources that device classes provide.
        reasons: the reasons of rejections.
    """

    plugin: NodeResourcesFit
    shape: pod_shape.PodShape
    ids: npt.NDArray[np.intp]
    amounts: columns.IntArray
    by_class: npt.NDArray[np.uint8]
    reasons: tuple[str, ...]

    def write(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], out: columns.Int32Array
    ) -> None:
        """Write codes, as `resources.write_fit_codes` defines them."""
        nodes = snap.nodes
        resources.write_fit_codes(
            rows,
            nodes.allocatable,
            nodes.requested,
            nodes.pod_count,
            nodes.allowed_pods,
            self.ids,
            self.amounts,
            self.by_class,
            out,
        )

    def describe(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], codes: columns.Int32Array
    ) -> status.NodeStatuses:
        """Return a status for each of n rows, with a reason for each insufficient resource."""
        failing = codes.nonzero()[0]
        full = codes[failing] & resources.NO_POD_SLOT != 0
        full &= snap.is_alive[rows[failing]]
        self.plugin.record_too_many_pods(
            self.shape, lacking=bool(full.any()), asked_about_all=len(rows) == snap.size
        )
        answers = status.NodeStatuses.passing(len(rows))
        numbers = {status.SUCCESS: 0}
        for code in sorted(set(codes[failing].tolist())):
            same = np.flatnonzero(codes == code)
            # The code of a pod with very many resources does not name all that are short.
            groups = same[:, np.newaxis] if code & resources.MORE_SHORT else [same]
            for group in groups:
                answer = self._make_status(code, snap.nodes, rows[group[0]])
                answers.ids[group] = numbers.setdefault(answer, len(numbers))
        answers.statuses = list(numbers)
        return answers

    def _make_status(self, code: int, nodes: columns.NodeColumns, row: int) -> status.Status:
        reject = status.unresolvable if code & resources.TOO_SMALL else status.unschedulable
        return reject(self.plugin.name, *self._list_reasons(code, nodes, row))

    def _list_reasons(self, code: int, nodes: columns.NodeColumns, row: int) -> list[str]:
        """Return the reasons that the code of a row stands for."""
        is_short = [bool(code >> bit & 1) for bit in range(resources.FIRST_RESOURCE_BIT, 31)]
        if code & resources.MORE_SHORT:
            free = nodes.allocatable[row, self.ids] - nodes.requested[row, self.ids]
            has_none = nodes.allocatable[row, self.ids] == 0
            is_short = ((self.amounts > free) & ~(has_none & self.by_class.astype(bool))).tolist()
        reasons = [r for r, short in zip(self.reasons, is_short, strict=False) if short]
        return [TOO_MANY_PODS, *reasons] if code & resources.NO_POD_SLOT else reasons


class NodeResourcesFit:
    """Rejects nodes without enough free resources, and scores utilisation including the pod.

    Extended resources that device classes provide are left to DynamicResources on nodes that have
    no device plugin for them. Scores count devices there.
    """

    name = names.NODE_RESOURCES_FIT
    reads: ClassVar = interface.Reads.AMOUNTS

    def __init__(
        self,
        strategy: allocation.Strategy = allocation.LEAST_ALLOCATED,
        resources: Sequence[tuple[str, int]] = resource_arguments.DEFAULT_RESOURCES,
        ignored_resources: frozenset[str] = frozenset(),
        ignored_groups: frozenset[str] = frozenset(),
        device_classes: classes.DeviceClasses | None = None,
    ) -> None:
        """Score `resources` (name, weight); Filter skips the ignored extended resources."""
        self._classes = classes.DeviceClasses() if device_classes is None else device_classes
        self._strategy = strategy
        self._resources = tuple(resources)
        self._devices = scored_devices.ScoredDevices()
        self._ignored_resources = ignored_resources
        self._ignored_groups = ignored_groups
        self._lacks_pod_slots: dict[Hashable, bool] = {}

    @classmethod
    def from_args(cls, args: arguments.Arguments, handle: handles.Handle) -> NodeResourcesFit:
        """Create the plugin from `NodeResourcesFitArgs`."""
        given = arguments.decode_arguments(args, resource_arguments.NodeResourcesFitArgs)
        return cls(
            resource_arguments.make_scoring_strategy(given.scoring_strategy),
            resource_arguments.get_weighted_resources(given.scoring_strategy.resources),
            resource_arguments.get_ignored_resources(given.ignored_resources),
            resource_arguments.get_ignored_resource_groups(given.ignored_resource_groups),
            handle.devices.classes,
        )

    def answer_key(self, shape: pod_shape.PodShape) -> Hashable:
        """Return a key of the pod's requests."""
        return shape.request_key

    # --- filter ----------------------------------------------------------------------------------

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes, with a reason for each insufficient resource."""
        needs = state.find(self.name, _ComparedRequests)
        if needs is None:
            needs = self.make_filter_writer(pod, nodes.snapshot)
            state.write(self.name, needs)
        codes = row_writer.compute_view(needs, nodes, np.int32)
        return needs.describe(nodes.snapshot, nodes.row_numbers, codes)

    def make_filter_writer(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> _ComparedRequests:
        """Return the compared requests of the pod."""
        wanted = self._select_compared_resources(pod.shape)
        return _ComparedRequests(
            self,
            pod.shape,
            np.array([snap.nodes.get_resource_column_index(r) for r in wanted], np.intp),
            np.array([pod.shape.requests.amounts[r] for r in wanted], np.int64),
            np.array([self._is_provided_by_class(r) for r in wanted], np.uint8),
            tuple(f"Insufficient {r}" for r in wanted),
        )

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the requested, free and allocatable amounts."""
        del state
        if reason == TOO_MANY_PODS:
            return f"{node.pod_count[0]:,} pods on the node, {node.allowed_pods[0]:,} allowed"
        resource = reason.removeprefix("Insufficient ")
        wanted = pod.shape.requests.amounts.get(resource, 0)
        allocatable = node.allocatable_of(resource)
        free = allocatable - node.requested_of(resource)  # which may wrap around
        amounts_of = (wanted, int(free[0]), int(allocatable[0]))
        texts = [amounts.format_quantity(resource, amount) for amount in amounts_of]
        return "requests {}, {} free of {}".format(*texts)

    def _select_compared_resources(self, shape: pod_shape.PodShape) -> list[str]:
        """Return the requested resources that Filter compares: native first, others by name."""
        requested = {r for r, amount in shape.requests.amounts.items() if amount > 0}
        native = [r for r in _NATIVE if r in requested]
        others = sorted(requested.difference(_NATIVE))
        return native + [r for r in others if not self._is_ignored_resource(r)]

    def _is_provided_by_class(self, resource: str) -> bool:
        is_native = resource in _NATIVE
        return not is_native and self._classes.find_class_of_resource(resource) is not None

    def _is_ignored_resource(self, resource: str) -> bool:
        if not pod_requests.is_extended_resource(resource):
            return False
        group = resource.partition("/")[0]
        return resource in self._ignored_resources or group in self._ignored_groups

    # --- score -----------------------------------------------------------------------------------

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): the strategy's score of requested and allocatable amounts, 0 to 100.

        Containers without a request count with the defaults. Resources that are not native are
        scored only if the pod requests them. Devices count with those in use before the pod.
        """
        del state
        return row_writer.compute_view(self.make_score_writer(pod, nodes.snapshot), nodes, np.int64)

    def make_score_writer(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.RowWriter:
        """Return what writes the scores for all pods with the same requests."""
        scored = pod.shape.requests.scored
        counted = [r for r in self._resources if scored.get(r[0], 0) or r[0] in _NATIVE]
        devices = self._select_devices(pod.shape, snap)
        ids = scored_devices.find_columns(snap, (r for r, _ in counted), devices)
        return self._strategy.make_writer(
            allocation.ScoredRequests(
                np.array(ids, np.intp),
                np.array([scored.get(r, 0) for r, _ in counted], np.int64),
                np.array([weight for _, weight in counted], np.int64),
                devices,
            )
        )

    def keeps_scores(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> bool:
        """Return whether the scores count no devices, which change without the nodes."""
        return self._select_devices(shape, snap) is None

    def _select_devices(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> scored_devices.ProvidedDevices | None:
        names = (name for name, _ in self._resources)
        return self._devices.select_provided(snap, names, shape.requests.scored)

    # --- events ----------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for deleted or scaled-down pods, and for nodes that become large enough."""
        node = events.ActionType.ADD | events.ActionType.UPDATE_NODE_ALLOCATABLE
        shrinks = events.ActionType.UPDATE_POD_SCALE_DOWN
        pod = events.ActionType.DELETE | shrinks
        return (
            event_hints.make_event_registration(
                events.EventResource.POD, pod, self._after_pod_event
            ),
            event_hints.make_event_registration(
                events.EventResource.UNSCHEDULED_POD, shrinks, event_hints.after_own_change
            ),
            event_hints.make_event_registration(
                events.EventResource.NODE, node, self._after_node_change
            ),
            event_hints.make_event_registration(
                events.EventResource.DEVICE_CLASS,
                events.ActionType.ADD | events.ActionType.UPDATE,
                self._after_class_change,
            ),
        )

    def record_too_many_pods(
        self, shape: pod_shape.PodShape, *, lacking: bool, asked_about_all: bool
    ) -> None:
        """Record for the hints whether any node had too many pods.

        Answers about only some rows cannot clear a recorded shortage.
        """
        if not (lacking or asked_about_all):
            return
        key = self.answer_key(shape)
        if key not in self._lacks_pod_slots and len(self._lacks_pod_slots) >= _MAX_KEYS:
            self._lacks_pod_slots.clear()  # hints assume a shortage if none is recorded
        self._lacks_pod_slots[key] = lacking

    def _after_pod_event(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if a requested resource becomes free.

        kube-scheduler queues after every deletion, because each frees a pod slot. Here, the freed
        slot counts only if pod slots were short, or if this is not known.
        """
        if not isinstance(old, pod_shape.PodInfo) or not event_hints.is_placed_or_nominated(old):
            return events.QueueingHint.SKIP
        left = new.shape.requests.amounts if isinstance(new, pod_shape.PodInfo) else {}
        held = old.shape.requests.amounts
        if any(held.get(r, 0) > left.get(r, 0) for r in self._select_compared_resources(pod.shape)):
            return events.QueueingHint.QUEUE
        is_gone = not isinstance(new, pod_shape.PodInfo)
        return event_hints.choose_queueing_hint(
            is_gone and self._lacks_pod_slots.get(self.answer_key(pod.shape), True)
        )

    def _after_node_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if the pod fits on an empty node of the new size, and the old node was smaller."""
        if not isinstance(new, objects.Node):
            return events.QueueingHint.SKIP
        wanted = self._select_compared_resources(pod.shape)
        amounts = pod.shape.requests.amounts
        by_class = [r for r in wanted if self._is_left_to_class(new, r)]
        large_enough = _get_allocatable(new, _PODS) >= 1 and all(
            amounts[r] <= _get_allocatable(new, r) for r in wanted if r not in by_class
        )
        if not large_enough:
            return events.QueueingHint.SKIP
        if not isinstance(old, objects.Node) or by_class:
            return events.QueueingHint.QUEUE
        compared = (_PODS, *wanted)
        return event_hints.choose_queueing_hint(
            any(_get_allocatable(new, r) > _get_allocatable(old, r) for r in compared)
        )

    def _is_left_to_class(self, node: objects.Node, resource: str) -> bool:
        return not _get_allocatable(node, resource) and self._is_provided_by_class(resource)

    def _after_class_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if the class now provides a resource that the pod requests."""
        if not isinstance(new, device_objects.DeviceClass):
            return events.QueueingHint.SKIP
        name = new.spec.extended_resource_name
        provided = {name}
        if not isinstance(old, device_objects.DeviceClass):
            provided.add(classes.IMPLICIT_PREFIX + new.metadata.name)
        elif (old.spec.extended_resource_name or "") == (name or ""):
            return events.QueueingHint.SKIP
        requested = pod.shape.requests.amounts
        return event_hints.choose_queueing_hint(any(each in requested for each in provided))


def _get_allocatable(node: objects.Node, resource: str) -> int:
    return pod_requests.parse_amount(resource, node.status.allocatable.get(resource, 0))


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = NodeResourcesFit
    _filter: type[interface.RowFilterPlugin] = NodeResourcesFit
    _score: type[interface.RowScorePlugin] = NodeResourcesFit
    _partly_kept: type[interface.PartlyKeptScorePlugin] = NodeResourcesFit
    _keyed: type[interface.KeyedPlugin] = NodeResourcesFit
    _events: type[interface.EventsPlugin] = NodeResourcesFit
