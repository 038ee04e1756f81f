"""VolumeBinding: reject nodes without volumes for a pod's claims; bind the claims in PreBind.

Source: `plugins/volumebinding/volume_binding.go`. Volumes do not affect scores, because
StorageCapacityScoring is off by default in 1.36 and PreScore then skips every pod.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import storage_objects
from policysched.cluster.pods import pod_shape
from policysched.cluster.storage import storage
from policysched.framework import apart, cycle_state, events, handles, interface, status
from policysched.plugins import arguments, names
from policysched.plugins.shared import pod_independent_filter
from policysched.plugins.volume_binding import (
    queueing_hints,
    volume_claims,
    volume_findings,
    volume_reservation,
)

REASONS: dict[volume_findings.VolumeProblem, str] = {
    volume_findings.VolumeProblem.OUT_OF_REACH: (
        "node(s) didn't match PersistentVolume's node affinity"
    ),
    volume_findings.VolumeProblem.NO_VOLUME: (
        "node(s) didn't find available persistent volumes to bind"
    ),
    volume_findings.VolumeProblem.NO_SPACE: "node(s) did not have enough free storage",
    volume_findings.VolumeProblem.VOLUME_GONE: (
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    ),
}
_TIMED_OUT = "context deadline exceeded"
_FIRST_LOOK_SECONDS = 0.05
_LONGEST_LOOK_SECONDS = 1.0
"""kube-scheduler polls every second; shorter first delays let fast bindings finish earlier."""


class VolumeBindingArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments: how long a pod waits for its claims (`apis/config/v1/defaults.go`).

    `shape` requires the feature gate StorageCapacityScoring, so it is rejected.
    """

    bind_timeout_seconds: int = 600
    shape: object = None


@dataclasses.dataclass(slots=True)
class _VolumeBindingState:
    """The state of a pod's claims in its cycle.

    Attributes:
        claims: claims of the pod.
        snap: snapshot of the cycle.
        nodes, stored: live objects, which the binding cycle reads.
        findings: volumes for the claims. The first Filter call computes them, or Reserve if Filter
            ran outside the cycle, as for a nominated node.
        reservation: volumes that are reserved for the claims; None if there is nothing to reserve.
    """

    claims: volume_claims.PodClaims
    snap: snapshot.Snapshot
    nodes: columns.NodeColumns
    stored: storage.Storage
    findings: volume_findings.PodVolumeFindings | None = None
    reservation: volume_reservation.VolumeReservation | None = None


class VolumeBinding(pod_independent_filter.PodIndependentFilter):
    """Rejects nodes without volumes for the pod's claims, and binds claims on the chosen node."""

    name = names.VOLUME_BINDING
    reads: ClassVar = interface.Reads.ANYTHING  # volumes and claims differ for each pod

    def __init__(self, handle: handles.Handle, bind_timeout_seconds: float = 600.0) -> None:
        """Write volumes and claims through `handle`."""
        self._writer = handle.volume_writer
        self._sleep = handle.sleep
        self._timeout_seconds = bind_timeout_seconds
        self._finder = volume_findings.PodVolumeFinder()

    @classmethod
    def from_args(cls, args: arguments.Arguments, handle: handles.Handle) -> VolumeBinding:
        """Create the plugin from `VolumeBindingArgs`."""
        given = arguments.decode_arguments(args, VolumeBindingArgs)
        if given.bind_timeout_seconds < 0:
            msg = f"`bindTimeoutSeconds` is {given.bind_timeout_seconds}, but must not be negative"
            raise arguments.ArgumentError(msg)
        if given.shape is not None:
            msg = "`shape` is only for scoring by storage capacity, "
            msg += "which kube-scheduler 1.36 disables by default"
            raise arguments.ArgumentError(msg)
        return cls(handle, given.bind_timeout_seconds)

    # --- the scheduling cycle ---------------------------------------------------------------------

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the pod has claims."""
        del state, snap
        return bool(shape.claims)

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Reject pods with claims that are missing, lost, being deleted or not bindable yet.

        An unbound claim is bindable only if its class binds it when a pod is scheduled.
        """
        if not pod.shape.claims:
            return interface.PreFilterResult(status.SKIP)
        claims = volume_claims.find_pod_claims(pod, snap.storage)
        if isinstance(claims, status.Status):
            return interface.PreFilterResult(dataclasses.replace(claims, plugin=self.name))
        state.write(self.name, _VolumeBindingState(claims, snap, snap.nodes, snap.storage))
        return interface.PreFilterResult()

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes; a rejection has one or two reasons."""
        found = self._get_findings(state.read(self.name, _VolumeBindingState))
        answers = _make_filter_statuses(
            self.name, found.of_bound[nodes.rows], found.of_unbound[nodes.rows]
        )
        for fails, problem in reversed(found.errors):
            answers.ids[fails[nodes.rows]] = len(answers.statuses)
            answers.statuses.append(status.Status(status.Code.ERROR, (problem,), self.name))
        return answers

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the claims behind the reason, with their volumes or classes."""
        if not self.pre_filter(state, pod, node.snapshot).status.is_success:
            return ""
        claims = state.read(self.name, _VolumeBindingState).claims
        verdicts = {text: verdict for verdict, text in REASONS.items()}
        verdict = verdicts.get(reason)
        if verdict in (
            volume_findings.VolumeProblem.OUT_OF_REACH,
            volume_findings.VolumeProblem.VOLUME_GONE,
        ):
            return "; ".join(
                f"claim {claim.metadata.name} is bound to {claim.spec.volume_name}"
                for claim in claims.bound
                if self._does_bound_claim_fail(claim, node)
            )
        if verdict is None:
            return ""
        return "; ".join(f"claim {c.metadata.name}, class {c.class_name}" for c in claims.delayed)

    def _does_bound_claim_fail(
        self, claim: storage_objects.PersistentVolumeClaim, node: snapshot.NodeView
    ) -> bool:
        alone = volume_claims.PodClaims(bound=(claim,))
        return bool(self._finder.find_pod_volumes(alone, node.snapshot).of_bound[node.rows][0])

    def _get_findings(self, cycle: _VolumeBindingState) -> volume_findings.PodVolumeFindings:
        """Return the findings for all rows; additions and removals of pods do not affect them."""
        if cycle.findings is None:
            cycle.findings = self._finder.find_pod_volumes(cycle.claims, cycle.snap)
        return cycle.findings

    def reserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Reserve existing volumes for claims, and assign the node to claims to be provisioned."""
        cycle = state.find(self.name, _VolumeBindingState)
        if cycle is not None and cycle.claims.delayed:
            row = cycle.nodes.row_of[node_name]
            cycle.reservation = volume_reservation.reserve_volumes(
                self._get_findings(cycle), row, node_name, cycle.stored.assumed
            )
        return status.SUCCESS

    def unreserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Release the reservations that are not written yet."""
        cycle = state.find(self.name, _VolumeBindingState)
        if cycle is not None and cycle.reservation is not None:
            volume_reservation.release_volumes(cycle.reservation, cycle.stored.assumed)

    # --- the binding cycle ------------------------------------------------------------------------

    def pre_bind_pre_flight(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Return SKIP if PreBind has nothing to write."""
        cycle = state.find(self.name, _VolumeBindingState)
        has_work = cycle is not None and cycle.reservation is not None
        return status.SUCCESS if has_work else status.SKIP

    async def pre_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Write the reservation and wait until all claims are bound.

        The status is ERROR if a write fails, if the binding cannot complete, or after the timeout.
        """
        cycle = state.find(self.name, _VolumeBindingState)
        if cycle is None or cycle.reservation is None:
            return status.SUCCESS
        refused = await volume_reservation.write_reservation(cycle.reservation, self._writer)
        if refused is not None:
            return status.Status(status.Code.ERROR, (refused.message,), self.name)
        check = volume_reservation.VolumeBindingCheck(
            pod, cycle.reservation, cycle.stored, cycle.nodes
        )
        problem = await self._wait_until_bound(check)
        if problem:
            return status.Status(status.Code.ERROR, (f"binding volumes: {problem}",), self.name)
        return status.SUCCESS

    async def _wait_until_bound(self, check: volume_reservation.VolumeBindingCheck) -> str:
        """Poll until all claims are bound; return "", or the reason why they cannot be bound."""
        looks = _iterate_poll_delays()
        left_seconds = self._timeout_seconds
        while left_seconds > 0:
            seconds = min(next(looks), left_seconds)
            await self._sleep(seconds)
            left_seconds -= seconds
            progress = check.check_progress()
            if isinstance(progress, str):
                return progress
            if progress is volume_reservation.VolumeBindingProgress.DONE:
                return ""
        return _TIMED_OUT

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for volumes, claims, and objects that determine where volumes can be used."""
        return queueing_hints.REGISTRATIONS


def _iterate_poll_delays() -> Iterator[float]:
    """Yield the delay before each check of the claims, in seconds."""
    seconds = _FIRST_LOOK_SECONDS
    while True:
        yield seconds
        seconds = min(2 * seconds, _LONGEST_LOOK_SECONDS)


def _make_filter_statuses(
    name: str, of_bound: volume_findings.Verdicts, of_unbound: volume_findings.Verdicts
) -> status.NodeStatuses:
    """Combine both verdicts of each node, int8 (n,); reasons have the order of `VolumeProblem`."""
    combined = of_bound.astype(np.int16) * len(volume_findings.VolumeProblem) + of_unbound
    present, inverse = np.unique(combined, return_inverse=True)
    statuses = [status.SUCCESS]
    number_of: npt.NDArray[np.int16] = np.zeros(len(present), np.int16)
    for position, both in enumerate(present.tolist()):
        verdicts = sorted({*divmod(both, len(volume_findings.VolumeProblem))} - {0})
        if verdicts:
            number_of[position] = len(statuses)
            reasons = (REASONS[volume_findings.VolumeProblem(v)] for v in verdicts)
            statuses.append(status.unresolvable(name, *reasons))
    return status.NodeStatuses(number_of[inverse], statuses)


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = VolumeBinding
    _scoped: type[interface.ScopedPlugin] = VolumeBinding
    _pre_filter: type[interface.PreFilterPlugin] = VolumeBinding
    _filter: type[interface.FilterPlugin] = VolumeBinding
    _apart: type[apart.ApartFilterPlugin] = VolumeBinding
    _reserve: type[interface.ReservePlugin] = VolumeBinding
    _pre_bind: type[interface.PreBindPlugin] = VolumeBinding
    _events: type[interface.EventsPlugin] = VolumeBinding
