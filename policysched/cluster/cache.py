"""The scheduler's view of the cluster, including the pods that it has assumed.

States of a pod in the cache and the calls that change them (`backend/cache/interface.go`):

                 assume               finish_binding, then ttl          (expired)
    [unknown] ────────────▶ [assumed] ─────────────────────▶ [expired] ──────────▶ [unknown]
        │                     │  │ add                                                ▲
        │ add                 │  ▼                                                    │
        └────────────────▶ [added] ◀── update                                         │
                              │ │  forget (only assumed)                              │
                              │ └────────────────────────────────────────────────────┘
                              └── remove ────────────────────────────────────────────▶ [deleted]

- A pod is assumed as soon as a node is chosen, so that the next scheduling cycle counts it there.
  The binding runs in the background. If it fails, the pod is forgotten.
- The watch takes precedence: a pod that it shows on a different node than assumed is moved to that
  node.
- Pods can be added before their node. Their row is then dead until the node is added.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Iterable, Mapping, Sequence

from policysched import clock as clocks
from policysched.cluster import metric_needs, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import placed_pods, pod_counts
from policysched.cluster.devices import cluster_devices
from policysched.cluster.metrics import metric_table, recent_placements
from policysched.cluster.objects import disruption_budgets, objects, time_text
from policysched.cluster.pods import nominated_pods, owner_selectors, pod_shape
from policysched.cluster.storage import storage


@dataclasses.dataclass(slots=True)
class _CachedPodState:
    info: pod_shape.PodInfo
    node_name: str
    row: int
    is_assumed: bool = False
    expires_at_seconds: float | None = None
    placed_at_seconds: float | None = None


class Cache:
    """Nodes, placed and assumed pods, namespaces, storage, budgets and metric samples.

    Not thread-safe: only the scheduling thread may use it.
    """

    def __init__(self, clock: clocks.Clock, assumed_ttl_seconds: float | None = None) -> None:
        """Start empty.

        `assumed_ttl_seconds` is how long an assumed pod is kept after its binding if no watch event
        confirms it. With None, as in kube-scheduler by default, it is kept indefinitely.
        """
        self.nodes = columns.NodeColumns()
        self.counts = pod_counts.PodCounts()
        self.metrics = metric_table.MetricTable()
        self.owners = owner_selectors.OwnerSelectors()
        self.storage = storage.Storage()
        self.devices = cluster_devices.ClusterDevices()
        self.budgets = disruption_budgets.DisruptionBudgets()
        self._clock = clock
        self._jumps = clocks.ClockJumpDetector(clock)
        self._assumed_ttl_seconds = assumed_ttl_seconds
        self.nominated = nominated_pods.NominatedPods()
        self._placed = placed_pods.PlacedPods(self.nodes, self.counts, self.storage)
        self._pods: dict[str, _CachedPodState] = {}
        self._followers: Sequence[metric_needs.MetricListener] = ()
        self.metrics.listeners.append(self._notify_metric_listeners)

    def snapshot(self, now: datetime.datetime | None = None) -> snapshot.Snapshot:
        """Return a snapshot for a scheduling cycle; it is valid until the cache changes.

        `now` replaces the time of the clock, both in the snapshot and for the expiry of recent
        placements.
        """
        at = self._clock.now() if now is None else now
        placed = self._placed
        seen = snapshot.Snapshot(
            self.nodes,
            self.counts,
            self.metrics,
            at,
            placed,
            self.nominated,
            devices=self.devices,
        )
        if now is None:
            self._follow_clock(seen.now_seconds)
        placed.recent.expire_placements(seen.now_seconds)
        self.nodes.drop_excess_label_columns()
        return seen

    # --- metrics ---------------------------------------------------------------------------------

    def retain_needed_metric_data(self, needs: metric_needs.MetricNeeds) -> None:
        """Keep exactly the metric data that policies need; data that is still needed stays."""
        self.metrics.keep_histories(needs.histories)
        self._followers = needs.followers
        self.metrics.hysteresis.keep_only({each.hysteresis_key for each in needs.followers})
        recent = self._placed.recent
        recent.replace_durations(needs.placed_seconds)
        if recent.has_durations:
            for state in self._pods.values():
                self._note_placement(state)

    def expire_samples(self) -> None:
        """Evaluate the age of samples at the current time, and drop expired recent placements."""
        now = self._clock.now()
        self._follow_clock(now.timestamp())
        self._placed.recent.expire_placements(now.timestamp())
        self.metrics.set_sample_age_reference_time(now)

    def _follow_clock(self, now_seconds: float) -> None:
        """Adjust stored wall-clock times if the clock was set."""
        jump_seconds = self._jumps.measure_jump_seconds(now_seconds)
        if not jump_seconds:
            return
        self.metrics.follow_clock(jump_seconds)
        # A jump forward may mean that the machine was suspended, so placements age by the jump.
        if jump_seconds < 0:
            self._placed.recent.set_times_back(-jump_seconds)
            for state in self._pods.values():
                if state.placed_at_seconds is not None:
                    state.placed_at_seconds += jump_seconds

    def _notify_metric_listeners(self, metric: str) -> None:
        self.expire_samples()
        for follower in self._followers:
            if metric in follower.metrics:
                follower.on_metric_refreshed(self.snapshot())

    def _note_placement(self, state: _CachedPodState) -> None:
        """Record a placement for the durations in use, with a time that is not after now."""
        now_seconds = self._clock.now().timestamp()
        if state.placed_at_seconds is None:
            said_seconds = recent_placements.get_scheduled_at_seconds(state.info.pod)
            state.placed_at_seconds = min(said_seconds, now_seconds)
        self._placed.recent.add(state.info, state.row, state.placed_at_seconds, now_seconds)

    # --- assumed pods -----------------------------------------------------------------------------

    def assume_pod(
        self, info: pod_shape.PodInfo, node_name: str, now_seconds: float | None = None
    ) -> None:
        """Assume that a pod runs on the node that was chosen for it.

        `now_seconds` is the time of the decision in seconds since 1970; None for the current time.

        Raises:
            ValueError: the pod is already in the cache; this is a bug in the caller.
        """
        if info.uid in self._pods:
            msg = f"pod {info.key} is already in the cache"
            raise ValueError(msg)
        if now_seconds is None:
            now_seconds = self._clock.now().timestamp()
        self._add_placed_pod(info, node_name, is_assumed=True, placed_at_seconds=now_seconds)

    def finish_binding(self, info: pod_shape.PodInfo) -> None:
        """Record that the API server accepted a binding; the TTL of the assumed pod starts."""
        state = self._pods.get(info.uid)
        if state is not None and state.is_assumed and self._assumed_ttl_seconds is not None:
            now_seconds = self._clock.monotonic_seconds()
            state.expires_at_seconds = now_seconds + self._assumed_ttl_seconds

    def forget_pod(self, info: pod_shape.PodInfo) -> bool:
        """Remove an assumed pod; return False if it is unknown or the watch has confirmed it."""
        if not self.is_assumed(info):
            return False
        self._remove_placed_pod(info.uid)
        return True

    def is_assumed(self, info: pod_shape.PodInfo) -> bool:
        """Return whether the pod is assumed and the watch has not confirmed it."""
        state = self._pods.get(info.uid)
        return state is not None and state.is_assumed

    def expire_assumed(self) -> list[pod_shape.PodInfo]:
        """Remove and return the assumed pods whose TTL has ended.

        The scheduler sets no `assumed_ttl_seconds` and does not call this, because kube-scheduler
        does not expire assumed pods either (`scheduler.go`, durationToExpireAssumedPod = 0). If the
        cache released the resources although the API server has the binding, they would be
        allocated twice. The watch confirms or removes assumed pods.
        """
        now_seconds = self._clock.monotonic_seconds()
        expired = [
            state.info
            for state in self._pods.values()
            if state.expires_at_seconds is not None and state.expires_at_seconds <= now_seconds
        ]
        for info in expired:
            self._remove_placed_pod(info.uid)
        return expired

    # --- placed pods from the watch ---------------------------------------------------------------

    def add_pod(self, info: pod_shape.PodInfo) -> None:
        """Add a pod that has a node; this confirms or corrects an assumed pod."""
        known = self._pods.get(info.uid)
        node_name = info.pod.spec.node_name
        placed_at_seconds = None
        if known is not None:
            if known.node_name == node_name:
                placed_at_seconds = known.placed_at_seconds
            self._remove_placed_pod(info.uid)
        self._add_placed_pod(info, node_name, is_assumed=False, placed_at_seconds=placed_at_seconds)

    def add_pods(self, infos: Iterable[pod_shape.PodInfo]) -> None:
        """Add pods that have a node and are not in the cache; faster than one call for each pod."""
        by_uid = {info.uid: info for info in infos}
        states = []
        for uid, info in by_uid.items():
            node_name = info.pod.spec.node_name
            state = _CachedPodState(info, node_name, self.nodes.get_or_add_row(node_name))
            self._pods[uid] = state
            states.append(state)
        self._placed.add_all([(state.info, state.row) for state in states])
        if self._placed.recent.has_durations:
            for state in states:
                self._note_placement(state)

    def update_pod(self, info: pod_shape.PodInfo) -> None:
        """Replace a pod that has a node, or add it if it is unknown."""
        state = self._pods.get(info.uid)
        if state is not None and _counts_in_same_columns(state, info):
            state.info = info
            state.is_assumed = False
            state.expires_at_seconds = None
            self._placed.replace(info, state.row)
            return
        self.add_pod(info)

    def remove_pod(self, info: pod_shape.PodInfo) -> bool:
        """Remove a pod that was deleted or has terminated; return False if it is unknown."""
        if info.uid not in self._pods:
            return False
        self._remove_placed_pod(info.uid)
        return True

    def get_pod(self, uid: str) -> pod_shape.PodInfo | None:
        """Return the placed or assumed pod with this uid, or None."""
        state = self._pods.get(uid)
        return state.info if state else None

    def get_node_of_pod(self, uid: str) -> str | None:
        """Return the name of the node on which the pod is counted, or None."""
        state = self._pods.get(uid)
        return state.node_name if state else None

    def get_pods_on_row(self, row: int) -> Iterable[pod_shape.PodInfo]:
        """Return the pods that are counted on a row."""
        return self._placed.get_pods(row)

    @property
    def pod_count(self) -> int:
        """Number of counted pods, including assumed pods."""
        return len(self._pods)

    @property
    def assumed_count(self) -> int:
        """Number of assumed pods."""
        return sum(state.is_assumed for state in self._pods.values())

    # --- nodes and namespaces ---------------------------------------------------------------------

    def set_node(self, node: objects.Node) -> bool:
        """Add or replace a node; return whether any field that scheduling reads changed.

        A new node with the name of a previous one starts without metric samples. So does a node
        with a new address: until the next scrape, samples of this address may belong to its
        previous owner.
        """
        old = self.get_node(node.name)
        if old is None or _get_node_identity(old) != _get_node_identity(node):
            if old is not None:
                self.metrics.forget_node(node.name)
            self.metrics.set_earliest_node_sample(
                node.name, self._compute_earliest_sample_seconds(node)
            )
        elif _list_node_addresses(node) - _list_node_addresses(old):
            self.metrics.set_earliest_node_sample(node.name, self._clock.now().timestamp())
        return self.nodes.set_node(node)

    def remove_node(self, name: str) -> None:
        """Remove a node; its pods are counted until they are removed."""
        self.nodes.remove_node(name)
        self.metrics.forget_node(name)

    def _compute_earliest_sample_seconds(self, node: objects.Node) -> float:
        """Return the earliest time at which a sample can belong to this node.

        This is the creation time of the node in seconds since 1970, because earlier samples may
        belong to a previous node of that name, or -inf without a creation timestamp. The API server
        truncates timestamps to seconds, so one second is added. The result is at most the current
        time, in case the clock of the API server is ahead.
        """
        created_at = node.metadata.creation_timestamp
        if created_at is None:
            return -math.inf
        return min(time_text.parse_rfc3339_seconds(created_at) + 1, self._clock.now().timestamp())

    def get_node(self, name: str) -> objects.Node | None:
        """Return the node with this name, or None."""
        row = self.nodes.row_of.get(name)
        return None if row is None else self.nodes.nodes[row]

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """Set the labels of a namespace, or remove the namespace if None."""
        self.counts.set_namespace(name, labels)

    # --- placement --------------------------------------------------------------------------------

    def _add_placed_pod(
        self,
        info: pod_shape.PodInfo,
        node_name: str,
        *,
        is_assumed: bool,
        placed_at_seconds: float | None,
    ) -> None:
        row = self.nodes.get_or_add_row(node_name)
        state = _CachedPodState(info, node_name, row, is_assumed, None, placed_at_seconds)
        self._pods[info.uid] = state
        self._placed.add(info, row)
        if self._placed.recent.has_durations:
            self._note_placement(state)

    def _remove_placed_pod(self, uid: str) -> None:
        state = self._pods.pop(uid)
        self._placed.remove(state.info, state.row)


def _list_node_addresses(node: objects.Node) -> set[str]:
    return {each.address for each in node.status.addresses}


def _get_node_identity(node: objects.Node) -> tuple[str, str | None]:
    return node.metadata.uid, node.metadata.creation_timestamp


def _counts_in_same_columns(state: _CachedPodState, info: pod_shape.PodInfo) -> bool:
    """Return whether replacing the cached pod with `info` changes no column."""
    return (
        state.info.shape is info.shape
        and state.node_name == info.pod.spec.node_name
        and state.info.is_terminating == info.is_terminating
    )
