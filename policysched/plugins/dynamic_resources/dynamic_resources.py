"""The plugin DynamicResources.

Source: `framework/plugins/dynamicresources/dynamicresources.go`. All rejections are unresolvable,
because an eviction frees no devices: the claims of the pod stay allocated until the resource claim
controller deallocates them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import numpy.typing as npt

from policysched import durations
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import device_objects
from policysched.cluster.pods import pod_shape
from policysched.framework import apart, cycle_state, events, handles, interface, status
from policysched.plugins import arguments, names
from policysched.plugins.dynamic_resources import (
    allocation_verdicts,
    claim_availability,
    claim_binding,
    claim_checks,
    claim_search,
    claim_variants,
    device_cycle,
    device_evidence,
    extended_resources,
    pod_binding,
    pod_claims,
    queueing_hints,
)
from policysched.plugins.dynamic_resources.allocation.allocation_errors import (
    AllocationError,
    InvalidPoolsError,
)
from policysched.plugins.dynamic_resources.allocation.device_order import DeviceOrder
from policysched.plugins.dynamic_resources.allocation_verdicts import AllocationVerdict
from policysched.plugins.dynamic_resources.device_cycle import DeviceCycle
from policysched.plugins.shared import pod_independent_filter, selector_cache

NO_DEVICES: Final = "cannot allocate all claims"
UNAVAILABLE: Final = "resourceclaim not available on the node"
INVALID_POOLS: Final = "invalid resource pools were encountered"
NO_CLAIMS: Final = "no new claims to deallocate"
LEFT_CLAIM: Final = "cannot schedule extended resource claim"
NO_RESOURCE: Final = "cannot fit resource"
DELETED: Final = "deletion of ResourceClaim completed"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
STILL_UNSCHEDULABLE: Final = "still not schedulable"
NOT_FOUND: Final = "not found"
NO_ALLOCATION: Final = "claim allocation not found for node"
_FILTER_SECONDS: Final = 5.0
_BINDING_SECONDS: Final = 600.0


class DynamicResourcesArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments: time limits of the searches for a pod and of the binding of its devices.

    Not in kube-scheduler: `device_order`, the order in which the devices of a node are tried.
    """

    filter_timeout: str | None = None
    binding_timeout: str | None = None
    device_order: DeviceOrder = DeviceOrder.PUBLISHED


class DynamicResources(pod_independent_filter.PodIndependentFilter):
    """Rejects nodes without devices for the claims of a pod, and allocates them on the chosen one.

    Scores nodes by the alternatives that claims get there (`firstAvailable`).
    """

    name = names.DYNAMIC_RESOURCES
    reads: ClassVar = interface.Reads.ANYTHING  # claims differ for each pod

    def __init__(
        self,
        handle: handles.Handle,
        filter_seconds: float = _FILTER_SECONDS,
        binding_seconds: float = _BINDING_SECONDS,
        order: DeviceOrder = DeviceOrder.PUBLISHED,
    ) -> None:
        """Search for at most `filter_seconds` a pod, and wait `binding_seconds` for devices."""
        self._handle = handle
        self._claims = handle.devices.claims
        self._binding_seconds = binding_seconds
        self._binder = pod_binding.PodClaimBinder(handle, binding_seconds)
        self._search_settings = claim_search.SearchSettings(
            selector_cache.SelectorCache(), handle.clock, filter_seconds, order
        )
        self._pools = handle.devices.node_pools
        self._verdicts = allocation_verdicts.VerdictCache()
        self._hints = queueing_hints.ClaimHints(handle.devices)

    @classmethod
    def from_args(cls, args: arguments.Arguments, handle: handles.Handle) -> DynamicResources:
        """Create the plugin from `DynamicResourcesArgs`."""
        given = arguments.decode_arguments(args, DynamicResourcesArgs)
        filter_seconds = _parse_seconds("filterTimeout", given.filter_timeout, _FILTER_SECONDS)
        binding_seconds = _parse_seconds("bindingTimeout", given.binding_timeout, _BINDING_SECONDS)
        if binding_seconds < 1:
            msg = f"`bindingTimeout` is `{given.binding_timeout}`, but must be at least 1 second"
            raise arguments.ArgumentError(msg)
        return cls(handle, filter_seconds, binding_seconds, given.device_order)

    # --- queueing ---------------------------------------------------------------------------------

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Gate a pod while one of its claims is missing or cannot be used."""
        if not pod.shape.spec.resource_claims:
            return status.SUCCESS
        try:
            pod_claims.list_pod_claims(pod, self._claims)
        except pod_claims.ClaimNotReadyError as error:
            return status.unresolvable(self.name, str(error))
        return status.SUCCESS

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for claims, slices, classes, and nodes that can use other devices."""
        return self._hints.list_registrations()

    # --- the scheduling cycle ---------------------------------------------------------------------

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the pod has claims, or requests resources that classes can provide."""
        del state, snap
        if shape.spec.resource_claims:
            return True
        return bool(extended_resources.list_requested_resources(shape))

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Reject pods with claims that are not ready, or that name classes that do not exist."""
        try:
            claims = pod_claims.list_pod_claims(pod, self._claims)
        except pod_claims.ClaimNotReadyError as error:
            return interface.PreFilterResult(status.unresolvable(self.name, str(error)))
        extended = self._find_extended_requests(pod)
        if not claims and extended is None:
            return interface.SKIP_FILTER
        for claim in claims:
            problem = claim_checks.find_problem(self.name, claim, self._handle.devices, pod)
            if problem is not None:
                return interface.PreFilterResult(problem)
        state.write(self.name, self._make_cycle(claims, extended, snap))
        return interface.ALL_NODES

    def _find_extended_requests(
        self, pod: pod_shape.PodInfo
    ) -> claim_variants.ExtendedRequests | None:
        """Return the requests for extended resources that device classes provide, or None."""
        class_names = {}
        for name in extended_resources.list_requested_resources(pod.shape):
            provider = self._handle.devices.classes.find_class_of_resource(name)
            if provider is not None:
                class_names[name] = provider.metadata.name
        if not class_names:
            return None
        claim = self._claims.find_extended_resource_claim(pod.pod.metadata.uid)
        if claim is None:
            claim = extended_resources.make_claim(pod)
        return claim_variants.ExtendedRequests(claim, pod.shape, class_names)

    def _make_cycle(
        self,
        claims: list[device_objects.ResourceClaim],
        extended: claim_variants.ExtendedRequests | None,
        snap: snapshot.Snapshot,
    ) -> DeviceCycle:
        unallocated = [claim for claim in claims if claim.allocation is None]
        availability = claim_availability.ClaimAvailability(
            claims, snap.now_seconds, self._binding_seconds
        )
        variants = claim_variants.ClaimVariants(
            unallocated,
            self._handle.devices,
            self._search_settings,
            self._verdicts,
            extended,
        )
        all_claims = claims if extended is None else [*claims, extended.claim]
        return DeviceCycle(snap, all_claims, variants, availability, extended)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes.

        Extended resources come first, then devices for claims without an allocation, and then the
        allocated claims.
        """
        cycle = state.read(self.name, DeviceCycle)
        answers = status.NodeStatuses.passing(len(nodes))
        if cycle.extended is not None:
            if cycle.extended.claim.spec.devices.requests:
                everywhere = np.ones(len(nodes), np.bool_)
                return status.NodeStatuses.where(
                    everywhere, status.unresolvable(self.name, LEFT_CLAIM)
                )
            missing = cycle.extended.find_missing(nodes)
            _add_status(answers, missing, status.unresolvable(self.name, NO_RESOURCE))
        for variant, concerned in cycle.variants.split(nodes):
            if variant.results is not None:
                self._add_verdicts(answers, variant.results, concerned, nodes)
        lost = cycle.availability.find_lost(nodes)
        _add_status(answers, lost, status.unresolvable(self.name, UNAVAILABLE))
        return answers

    def _add_verdicts(
        self,
        answers: status.NodeStatuses,
        results: claim_variants.SearchResults,
        concerned: columns.NodeMask,
        nodes: snapshot.NodeView,
    ) -> None:
        """Add the results of a search about some of the n nodes, `concerned` bool (n,)."""
        living = concerned & nodes.snapshot.is_alive[nodes.row_numbers]
        rows = nodes.row_numbers[living]
        found = results.find_verdicts(rows, nodes.snapshot.nodes)
        sets = np.full(len(nodes), -1, np.intp)
        sets[living] = self._pools.set_of_row[rows]
        verdicts = np.full(len(nodes), AllocationVerdict.FITS, np.int8)
        verdicts[living] = found.verdicts[sets[living]]
        for verdict, reason in (
            (AllocationVerdict.NO_DEVICES, NO_DEVICES),
            (AllocationVerdict.INVALID_POOLS, INVALID_POOLS),
        ):
            rejection = status.unresolvable(self.name, reason)
            _add_status(answers, verdicts == verdict, rejection)
        for number, text in found.errors.items():
            failed = status.Status(status.Code.ERROR, (text,), self.name)
            _add_status(answers, sets == number, failed)

    def post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult:
        """Deallocate a claim that no other pod uses, so that it can get other devices.

        If PreFilter of an earlier plugin ended the cycle, kube-scheduler's plugin does not find the
        state that its own PreFilter would have written. This is an error, which ends PostFilter.
        """
        if self.name in diagnosis.unasked:
            not_found = status.Status(status.Code.ERROR, (NOT_FOUND,), self.name)
            return interface.PostFilterResult(not_found)
        cycle = state.find(self.name, DeviceCycle)
        if cycle is None:
            return interface.PostFilterResult(status.unschedulable(self.name, NO_CLAIMS))
        rejected = snap.view_rows(self._find_unavailable_rows(diagnosis))
        for i in cycle.availability.list_lost_claims(rejected):
            claim = cycle.claims[i]
            if pod_claims.is_reserved_for_no_other(claim, pod):
                return interface.PostFilterResult(
                    status.unschedulable(self.name, DEALLOCATED),
                    write=functools.partial(self._binder.deallocate, claim),
                )
        if cycle.extended is not None and not extended_resources.is_in_memory(cycle.extended.claim):
            return interface.PostFilterResult(
                status.unschedulable(self.name, DELETED),
                write=functools.partial(self._binder.delete, cycle.extended.claim),
            )
        return interface.PostFilterResult(status.unschedulable(self.name, STILL_UNSCHEDULABLE))

    def _find_unavailable_rows(self, diagnosis: interface.Diagnosis) -> npt.NDArray[np.intp]:
        """Return intp (n,): the rows on which allocated claims cannot be used."""
        numbers = [
            number
            for number, each in enumerate(diagnosis.statuses)
            if each.plugin == self.name and UNAVAILABLE in each.reasons
        ]
        return np.flatnonzero(np.isin(diagnosis.ids, numbers))

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): more for better alternatives; 0 if all claims were allocated."""
        scores: columns.IntArray = np.zeros(len(nodes), np.int64)
        cycle = state.find(self.name, DeviceCycle)
        if cycle is None:
            return scores
        allocated_points = sum(
            claim_search.score_alternatives(claim, claim.allocation)
            for claim in cycle.claims
            if claim.allocation is not None
        )
        for variant, concerned in cycle.variants.split(nodes):
            if variant.results is not None:
                rows = nodes.row_numbers[concerned]
                found = variant.results.find_verdicts(rows, nodes.snapshot.nodes)
                sets = self._pools.set_of_row[rows]
                scores[concerned] = found.scores[sets] + allocated_points
        return scores

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.IntArray
    ) -> columns.IntArray:
        """Return int64 (f,): scores normalised to 0 to 100, with 100 for the largest sum."""
        del state, pod
        largest = int(scores.max(initial=0))
        return scores * interface.MAX_NODE_SCORE // largest if largest else scores

    # --- the chosen node --------------------------------------------------------------------------

    def reserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Take devices on the chosen node, so that the next pod does not use them.

        The search runs again, unless Filter found the devices in this cycle and for this node.
        """
        del pod
        cycle = state.find(self.name, DeviceCycle)
        if cycle is None:
            return status.SUCCESS
        row = cycle.snap.nodes.row_of[node_name]
        ((variant, _),) = cycle.variants.split(cycle.snap.view_rows(np.array([row], np.intp)))
        if variant.results is None:
            return status.SUCCESS
        found = self._allocate(variant.results, cycle.snap.nodes, row)
        if isinstance(found, status.Status):
            return found
        cycle.mappings = tuple(variant.mappings)
        indices = [i for i, claim in enumerate(cycle.claims) if claim.allocation is None]
        # A claim for extended resources that the node does not need is the last one.
        for i, claim, allocation in zip(indices, variant.claims, found, strict=False):
            cycle.claims[i] = claim
            cycle.reserved[i] = device_cycle.ReservedAllocation(claim, allocation)
            self._claims.start_allocation(claim.metadata.uid, allocation)
        return status.SUCCESS

    def _allocate(
        self, results: claim_variants.SearchResults, nodes: columns.NodeColumns, row: int
    ) -> Sequence[device_objects.AllocationResult] | status.Status:
        node = nodes.nodes[row]
        try:
            found = None if node is None else results.allocate(node, nodes)
        except (AllocationError, InvalidPoolsError) as error:
            return status.Status(status.Code.ERROR, (str(error),), self.name)
        if found is None:
            return status.Status(status.Code.ERROR, (NO_ALLOCATION,), self.name)
        return found

    def unreserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Give back the devices that were not written, and the reservations that were."""
        del node_name
        cycle = state.find(self.name, DeviceCycle)
        if cycle is not None:
            self._binder.undo(cycle, pod)

    def pre_bind_pre_flight(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Return SKIP for pods without claims."""
        del pod, node_name
        has_claims = state.find(self.name, DeviceCycle) is not None
        return status.SUCCESS if has_claims else status.SKIP

    async def pre_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Write allocations and reservations, and wait until all devices are ready.

        The status is ERROR if a write fails, if a device fails, or after the timeout.
        """
        cycle = state.find(self.name, DeviceCycle)
        if cycle is None:
            return status.SUCCESS
        try:
            await self._binder.bind_claims(cycle, pod, node_name)
        except claim_binding.ClaimBindingError as error:
            return status.Status(status.Code.ERROR, (str(error),), self.name)
        return status.SUCCESS

    def assume_written(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Assume allocations and reservations without a write."""
        del node_name
        cycle = state.find(self.name, DeviceCycle)
        if cycle is not None:
            self._binder.assume_written(cycle, pod)

    # --- evidence for explanations ----------------------------------------------------------------

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the claims that the node cannot use, or the tests that its devices fail."""
        if reason.endswith(pod_claims.NOT_CREATED):
            return pod_claims.describe_awaited_claims(pod.pod)
        if not self.pre_filter(state, pod, node.snapshot).status.is_success:
            return ""
        cycle = state.find(self.name, DeviceCycle)
        if cycle is None:
            return ""
        if reason == UNAVAILABLE:
            lost = [cycle.claims[i] for i in cycle.availability.list_lost_claims(node)]
            return ", ".join(f"claim {claim.metadata.name}" for claim in lost)
        ((variant, _),) = cycle.variants.split(node)
        self._pools.refresh(node.snapshot.nodes)
        row = int(node.row_numbers[0])
        api_node = node.snapshot.nodes.nodes[row]
        is_about_devices = reason == NO_DEVICES or device_evidence.is_selector_error(reason)
        if api_node is None or not is_about_devices:
            return ""
        pools = self._pools.sets[self._pools.set_of_row[row]]
        evidence = device_evidence.DeviceEvidence(
            api_node, pools, self._handle.devices, self._search_settings.selectors
        )
        return evidence.describe(variant.claims)


def _add_status(
    answers: status.NodeStatuses, fails: columns.NodeMask, failed: status.Status
) -> None:
    """Give a status to the nodes of a bool (n,) mask that have no failure yet."""
    fails = fails & (answers.ids == 0)
    if fails.any():
        answers.ids[fails] = len(answers.statuses)
        answers.statuses.append(failed)


def _parse_seconds(name: str, text: str | None, default_seconds: float) -> float:
    if text is None:
        return default_seconds
    seconds = durations.parse_duration_seconds(text)
    if seconds is None:
        msg = f"`{name}` is `{text}`, but must be a duration such as `10s`, and not negative"
        raise arguments.ArgumentError(msg)
    return seconds


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = DynamicResources
    _scoped: type[interface.ScopedPlugin] = DynamicResources
    _pre_enqueue: type[interface.PreEnqueuePlugin] = DynamicResources
    _pre_filter: type[interface.PreFilterPlugin] = DynamicResources
    _filter: type[interface.FilterPlugin] = DynamicResources
    _apart: type[apart.ApartFilterPlugin] = DynamicResources
    _post_filter: type[interface.PostFilterPlugin] = DynamicResources
    _score: type[interface.ScorePlugin] = DynamicResources
    _normalize: type[interface.NormalizeScorePlugin] = DynamicResources
    _reserve: type[interface.ReservePlugin] = DynamicResources
    _pre_bind: type[interface.PreBindPreFlightPlugin] = DynamicResources
    _events: type[interface.EventsPlugin] = DynamicResources
