"""Trial decisions about one pod under changed conditions.

Each trial changes the live columns, runs the engine and undoes the change. Every reported result is
therefore a decision of the scheduler itself, and this module needs no knowledge of plugins.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from policysched import clock as clocks
from policysched.cluster import elapsed_time, snapshot
from policysched.cluster.metrics import metric_windows
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from policysched.lang.checked import checked
from policysched.offline import sessions
from policysched.profiles import policies, profile_choice

PODS = "pods"
"""The pseudo-resource that counts the pods on a node."""


@dataclasses.dataclass(frozen=True, slots=True)
class TrialLimits:
    """The limits of the search for edits and flips.

    Attributes:
        trials: the number of decisions after which the search stops; a step that has begun may
            exceed it slightly. The result does not depend on the speed of the machine.
        seconds: an additional time limit for clusters with slow decisions, which may end the
            search earlier on a slow machine.
    """

    trials: int = 400
    seconds: float = 5.0


class PodTrials:
    """Makes repeated decisions for one pod under changed conditions.

    Attributes:
        decider: makes the decisions in the offline cluster.
        info: the pod.
        framework: the framework of the profile that serves the pod.
        count: the number of decisions so far.
        only_node: the node on which the pod must fit; None for any node.
    """

    def __init__(
        self,
        decider: sessions.PodDecider,
        info: pod_shape.PodInfo,
        clock: clocks.Clock,
        limits: TrialLimits | None = None,
        only_node: str | None = None,
    ) -> None:
        """Start the time limit for `info`, which must not be placed in the cluster."""
        self.only_node = only_node
        self.decider = decider
        self.framework = decider.choice.require_framework(info)
        self.info = info
        if self.framework.time_bounds.is_of_pods:  # some edits change a bound
            self.info = _place_exactly(info, self.take_snapshot().now_seconds)
        self.count = 0
        self._clock = clock
        self._limits = limits or TrialLimits()
        self._end_seconds = clock.monotonic_seconds() + self._limits.seconds

    @property
    def is_limit_reached(self) -> bool:
        """Whether the limit on trials or on time is reached, so that the search must stop."""
        if self.count >= self._limits.trials:
            return True
        return self._clock.monotonic_seconds() >= self._end_seconds

    def take_snapshot(self) -> snapshot.Snapshot:
        """Return the cluster with the changes in effect."""
        return self.decider.cluster.cache.snapshot()

    def get_node(self, name: str) -> objects.Node:
        """Return a node of the cluster.

        Raises:
            LookupError: the node does not exist.
        """
        found = self.decider.cluster.cache.get_node(name)
        if found is None:
            raise LookupError(name)
        return found

    # --- decisions -------------------------------------------------------------------------------

    def find_feasible_nodes(
        self, pod: objects.Pod | None = None, framework: runtime.Framework | None = None
    ) -> tuple[str, ...]:
        """Return the names of the nodes on which the pod fits, in row order.

        `pod` replaces the pod with an edited form; `framework` replaces the current policies.
        """
        self.count += 1
        info = self.info if pod is None else self.decider.cluster.shapes.make_pod_info(pod)
        snap = self.take_snapshot()
        rows = (framework or self.framework).feasible_rows(info, snap).tolist()
        names = (snap.nodes.names[row] for row in rows)
        return tuple(name for name in names if self.only_node in (None, name))

    def find_best_nodes(self, framework: runtime.Framework | None = None) -> frozenset[str]:
        """Return the names of the nodes with the highest total."""
        self.count += 1
        snap = self.take_snapshot()
        rows = (framework or self.framework).best_rows(self.info, snap).tolist()
        return frozenset(snap.nodes.names[row] for row in rows)

    # --- changes ---------------------------------------------------------------------------------

    def compile_framework(self, program: checked.CheckedProgram) -> runtime.Framework | None:
        """Return a framework for the pod with other policies; None if plugins cannot be created."""
        policy_set = dataclasses.replace(self.decider.policy_set, program=program)
        made = policies.make_profiles(policy_set, self.decider.handle)
        if isinstance(made, list):
            return None
        name = self.framework.profile.scheduler_name
        frameworks = {name: runtime.Framework(made.by_name[name], None, shapes_kept=1)}
        return profile_choice.ProfileChoice(frameworks, name).require_framework(self.info)

    def make_framework_with_weights(self, weights: Mapping[str, int]) -> runtime.Framework:
        """Return a framework for the pod in which `weights`, keyed by score name, are replaced."""
        prof = self.framework.profile
        changed = dataclasses.replace(prof, weights={**prof.weights, **weights})
        return runtime.Framework(changed, None, shapes_kept=1)

    @contextlib.contextmanager
    def suppose_nodes(self, changed: Sequence[objects.Node]) -> Iterator[None]:
        """Use `changed` in place of the nodes with the same names within the context."""
        cache = self.decider.cluster.cache
        before = [self.get_node(node.name) for node in changed]
        for node in changed:
            cache.set_node(node)
        try:
            yield
        finally:
            for node in before:
                cache.set_node(node)

    @contextlib.contextmanager
    def suppose_requests(self, node: str, resource: str, amount: int) -> Iterator[None]:
        """Change the requests of the pods on a node within the context.

        The amount is in milli-CPU, bytes or counts; a negative amount lowers the requests. For
        `pods` it is a number of pods.
        """
        self._add_requests(node, resource, amount)
        try:
            yield
        finally:
            self._add_requests(node, resource, -amount)

    def _add_requests(self, node: str, resource: str, amount: int) -> None:
        columns = self.decider.cluster.cache.nodes
        row = columns.row_of[node]
        if resource == PODS:
            columns.suppose_pod_count(row, amount)
        else:
            columns.suppose_requests(row, resource, amount)

    @contextlib.contextmanager
    def suppose_sample(self, metric: str, node: str, value: float) -> Iterator[None]:
        """Replace the value of a metric sample on a node, but not its time, within the context."""
        table = self.decider.cluster.cache.metrics
        before = dict(table.get_newest_samples(metric))
        sample = metric_windows.Sample(value, before[node].measured_at_seconds)
        table.replace_all_samples(metric, {**before, node: sample})
        try:
            yield
        finally:
            table.replace_all_samples(metric, before)


def replace_node_texts(
    node: objects.Node,
    field: Literal["labels", "annotations"],
    texts: Mapping[str, str | None],
) -> objects.Node:
    """Return the node with some labels or annotations replaced; None removes one."""
    having: Mapping[str, str] = getattr(node.metadata, field)
    changed = {**having, **texts}
    left = {key: value for key, value in changed.items() if value is not None}
    metadata = msgspec.structs.replace(node.metadata, **{field: left})
    return msgspec.structs.replace(node, metadata=metadata)


def _place_exactly(info: pod_shape.PodInfo, now_seconds: float) -> pod_shape.PodInfo:
    """Return the pod with a shape that has its times at `now_seconds`, not only the bounds."""
    times = elapsed_time.measure_times(info.pod, info.first_try_seconds, now_seconds)
    return pod_shape.PodInfo(info.pod, info.shape.at_times(times), info.noted_try_seconds)
