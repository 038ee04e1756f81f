"""Compares the bindings of a Karmada control plane under old and new cluster policies.

Like a running pod, each binding is compared as if it were new, without its current clusters. A
division moves as few replicas as possible, and `reject` only affects clusters that the binding does
not have yet. A decision for the binding with its clusters would therefore reveal a change too late.
`BindingChange.moves_now` reports whether the decisions with its current clusters differ.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from policysched import clock as clocks
from policysched.karmada import errors, objects
from policysched.karmada.explaining import explanation
from policysched.karmada.plugins import registry
from policysched.karmada.policies import cluster_policies
from policysched.karmada.scheduler import triggers
from policysched.karmada.state import snapshot
from policysched.karmada.steps import algorithm, binding_decision
from policysched.lang.checked import cluster_profile
from policysched.planning import (
    causes,
    changes,
    cluster_policy_edits,
    profile_edits,
    two_sided_cluster,
)
from policysched.profiles import cluster_policy_loading as policy_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from policysched.inputs import karmada_file
    from policysched.lang.checked import checked
    from policysched.planning import sides

Shares = dict[str, int]


class BindingChangeKind(enum.Enum):
    """The kind of difference between the two fates of a binding, most severe first."""

    UNSCHEDULABLE = "unschedulable"
    """The binding gets clusters under the old policies and none under the new policies."""
    PROFILE_REMOVED = "profileRemoved"
    """The new policies no longer declare the profile of the binding."""
    CLUSTERS = "clusters"
    """The binding gets a different set of clusters."""
    REPLICAS = "replicas"
    """The binding gets the same clusters with different numbers of replicas."""
    SCHEDULABLE = "schedulable"
    """The binding gets no clusters under the old policies and some under the new policies."""
    PROFILE_ADDED = "profileAdded"
    """Only the new policies declare the profile of the binding."""
    REASON = "reason"
    """The binding gets no clusters on either side, but for different reasons."""
    PRESENT = "present"
    """As a new binding, it gets the same result; with its current clusters, the results differ."""
    SAME = "same"


@dataclasses.dataclass(frozen=True, slots=True)
class BindingFate:
    """The result for a binding under one side.

    Attributes:
        shares: the replicas, keyed by cluster; None if the binding gets no clusters.
        message: the reason why the binding gets no clusters, or "".
    """

    shares: Shares | None
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class BindingChange:
    """A binding with different fates under the two sides.

    Attributes:
        binding: `namespace/name`, or `name` for a ClusterResourceBinding.
        present: its current replicas, keyed by cluster.
        lost: the clusters that it gets under the old side only.
        gained: the clusters that it gets under the new side only.
        moves_now: whether the sides also differ for the binding with its current clusters.
    """

    binding: str
    outcome: BindingChangeKind
    present: Shares
    old: BindingFate
    new: BindingFate
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    moves_now: bool
    cause: changes.ChangeCause


@dataclasses.dataclass(slots=True)
class BindingChanges:
    """The results of a plan for all bindings.

    Attributes:
        bindings: the bindings with differences, ordered by name.
        considered: the number of bindings that were compared.
        unserved: the number of bindings that neither side serves.
        edits: all edits to the cluster policies.
        unmeasured: the names of metrics that rules read but for which no cluster has a sample.
    """

    bindings: list[BindingChange] = dataclasses.field(default_factory=list)
    considered: int = 0
    unserved: int = 0
    edits: list[profile_edits.ProfileEdit] = dataclasses.field(default_factory=list)
    unmeasured: list[str] = dataclasses.field(default_factory=list)

    def count_bindings_by_kind(self) -> Counter[BindingChangeKind]:
        """Return the number of bindings for each kind of difference."""
        return Counter(each.outcome for each in self.bindings)


def compare_bindings(
    basis: two_sided_cluster.PlanInputs,
    plane: karmada_file.KarmadaControlPlane,
    advance: Callable[[int], None] = lambda _: None,
) -> BindingChanges:
    """Compare all bindings of a control plane under both sides.

    `advance` is called with 1 before each binding.

    Raises:
        ConfigurationError: several profiles have cluster policies, and none is selected.
    """
    looking = _BindingComparer(basis, plane)
    found = BindingChanges(edits=looking.edits, unmeasured=looking.find_metrics_without_samples())
    for binding in plane.bindings:
        advance(1)
        served = looking.find_serving_sides(binding)
        if served == (False, False):
            found.unserved += 1
            continue
        found.considered += 1
        both = served == (True, True)
        change = (
            looking.compare_binding(binding)
            if both
            else looking.make_one_sided_change(binding, served)
        )
        if change is not None:
            found.bindings.append(change)
    found.bindings.sort(key=lambda each: each.binding)
    return found


class _BindingComparer:
    """Compares the decisions of both sides, and finds the edits that cause differences."""

    def __init__(
        self, basis: two_sided_cluster.PlanInputs, plane: karmada_file.KarmadaControlPlane
    ) -> None:
        """Build the algorithms of both sides and find the edits between their cluster policies."""
        self._basis = basis
        self._clusters = snapshot.make_snapshot(plane.clusters, plane.bindings)
        self._plugins = registry.create_selected_plugins(
            registry.add_entry_point_plugins(registry.make_built_in_factories()), ["*"]
        )
        self._profiles = (
            _find_cluster_policy_profile(basis.old, basis),
            _find_cluster_policy_profile(basis.new, basis),
        )
        self.edits = cluster_policy_edits.find_cluster_policy_edits(
            *self._profiles, (basis.old, basis.new)
        )
        self._old, self._new = (self._make_algorithm(each) for each in self._profiles)
        self._without: dict[frozenset[profile_edits.Key], algorithm.BindingAlgorithm] = {}
        self._causes = causes.CauseCache()

    def find_metrics_without_samples(self) -> list[str]:
        """Return the names of metrics that rules read but for which no cluster has a sample."""
        read = {each.key: each.name for p in self._profiles for each in p.cluster_metrics}
        return sorted({name for key, name in read.items() if not self._basis.samples.get(key)})

    def find_serving_sides(self, binding: objects.Binding) -> tuple[bool, bool]:
        """Return whether the old side and the new side serve a binding."""
        basis, name = self._basis, triggers.get_scheduler_name(binding)
        if basis.scheduler_name is not None:
            return True, True
        return not basis.make_unserved_predicate(basis.old)(
            name
        ), not basis.make_unserved_predicate(basis.new)(name)

    def _has_profile_without_policies(self, binding: objects.Binding) -> bool:
        """Return whether a profile without cluster policies serves a binding on both sides."""
        basis, name = self._basis, triggers.get_scheduler_name(binding)
        pairs = zip((basis.old, basis.new), self._profiles, strict=True)
        return basis.scheduler_name is None and all(
            name in side.profile_names and profile.name != name for side, profile in pairs
        )

    def make_one_sided_change(
        self, binding: objects.Binding, served: tuple[bool, bool]
    ) -> BindingChange:
        """Return the change for a binding whose profile only one side declares."""
        name = triggers.get_scheduler_name(binding)
        without = BindingFate(None, f"no profile serves the schedulerName {name}")
        algorithms, fresh = (self._old, self._new), _make_unscheduled_binding(binding)
        old, new = (
            self._decide_binding_fate(made, fresh) if is_served else without
            for made, is_served in zip(algorithms, served, strict=True)
        )
        word = "removed" if served[0] else "added"
        return BindingChange(
            binding.key,
            BindingChangeKind.PROFILE_REMOVED if served[0] else BindingChangeKind.PROFILE_ADDED,
            {each.name: each.replicas for each in binding.spec.clusters},
            old,
            new,
            lost=(),
            gained=(),
            moves_now=False,
            cause=changes.ChangeCause(changes.CauseKind.PROFILE, how=f"profile `{name}` is {word}"),
        )

    def compare_binding(self, binding: objects.Binding) -> BindingChange | None:
        """Return the change for a binding; None if both sides make the same decisions."""
        if self._has_profile_without_policies(binding):
            return None
        fresh = _make_unscheduled_binding(binding)
        old, new = (
            self._decide_binding_fate(self._old, fresh),
            self._decide_binding_fate(self._new, fresh),
        )
        outcome = _classify_change(old, new)
        present = {each.name: each.replicas for each in binding.spec.clusters}
        moves_now = present != {} and self._do_decisions_differ(binding)
        if outcome is BindingChangeKind.SAME and not moves_now:
            return None
        cause_of = fresh
        if outcome is BindingChangeKind.SAME:
            outcome, cause_of = BindingChangeKind.PRESENT, binding
        before, after = (fate.shares or {} for fate in (old, new))
        lost = tuple(sorted(before.keys() - after.keys()))
        return BindingChange(
            binding.key,
            outcome,
            present,
            old,
            new,
            lost,
            tuple(sorted(after.keys() - before.keys())),
            moves_now,
            self._find_cause(cause_of, lost),
        )

    def _do_decisions_differ(self, binding: objects.Binding) -> bool:
        old, new = (
            self._decide_binding_fate(self._old, binding),
            self._decide_binding_fate(self._new, binding),
        )
        return old.shares != new.shares

    def _find_cause(self, binding: objects.Binding, lost: Sequence[str]) -> changes.ChangeCause:
        """Return the edits that cause the difference, with a text about a lost cluster, if any."""
        old, new = (
            self._decide_binding_fate(self._old, binding),
            self._decide_binding_fate(self._new, binding),
        )
        how = self._explain_lost_cluster(binding, new, lost)
        relevant = [each for each in self.edits if self._does_edit_concern(each, binding)]
        outcome = _classify_change(old, new)

        def explains(taken_back: Sequence[profile_edits.ProfileEdit]) -> bool:
            return _matches_old_result(
                outcome,
                old,
                self._decide_binding_fate(self._make_algorithm_without_edits(taken_back), binding),
            )

        alike = (tuple(each.key for each in relevant), outcome, how)
        return dataclasses.replace(self._causes.find_cause(alike, relevant, explains), how=how)

    def _explain_lost_cluster(
        self, binding: objects.Binding, new: BindingFate, lost: Sequence[str]
    ) -> str:
        """Return the reason why a binding no longer gets a cluster; "" if it loses none."""
        if new.shares is None:
            return new.message
        if not lost:
            return ""
        attempt = explanation.explain_binding(self._new, binding, self._clusters).attempts[-1]
        for name in lost:
            for refusal in attempt.refusals.get(name, ()):
                return f"{name}: {refusal.reason}"
        return f"{lost[0]} still accepts it, but other clusters come first"

    def _does_edit_concern(self, edit: profile_edits.ProfileEdit, binding: objects.Binding) -> bool:
        for each in (self._old.policies, self._new.policies):
            if each is not None:
                seen = each.make_binding_view(binding, self._clusters)
                if edit.concerns_pods_of_shape(seen.pod.shape, seen.snap.counts.namespaces):
                    return True
        return False

    def _decide_binding_fate(
        self, made: algorithm.BindingAlgorithm, binding: objects.Binding
    ) -> BindingFate:
        result = binding_decision.decide_binding(made, binding, self._clusters).result
        if isinstance(result, errors.PlacementFailure):
            return BindingFate(None, result.text)
        return BindingFate({each.name: each.replicas for each in result}, "")

    def _make_algorithm_without_edits(
        self, taken_back: Sequence[profile_edits.ProfileEdit]
    ) -> algorithm.BindingAlgorithm:
        """Return the algorithm of the new side with some edits undone."""
        key = frozenset(each.key for each in taken_back)
        if key not in self._without:
            old, new = self._profiles
            rows = profile_edits.undo_profile_edits(
                cluster_profile.replace_pod_by_cluster_policies(new), taken_back
            )
            metrics = {each.key: each for each in (*old.cluster_metrics, *new.cluster_metrics)}
            profile = dataclasses.replace(
                new,
                cluster_policies=rows.policies,
                cluster_metrics=tuple(metrics.values()),
                on_outage=rows.on_outage,
            )
            self._without[key] = self._make_algorithm(profile)
        return self._without[key]

    def _make_algorithm(self, profile: checked.CheckedProfile) -> algorithm.BindingAlgorithm:
        program = self._basis.new.policies.program
        if not profile.cluster_policies or program is None:
            return algorithm.BindingAlgorithm(self._plugins)
        clock = clocks.ManualClock(self._basis.now)
        made = cluster_policies.ClusterPolicies(profile, program, clock)
        for metric in profile.cluster_metrics:
            made.refresh_samples(metric.key, self._basis.samples.get(metric.key, {}))
        return algorithm.BindingAlgorithm(self._plugins, policies=made)


def _find_cluster_policy_profile(
    side: sides.PlanSide, basis: two_sided_cluster.PlanInputs
) -> checked.CheckedProfile:
    """Return the profile whose cluster policies are in force, or an empty profile."""
    program = side.policies.program
    if program is None:
        return two_sided_cluster.NO_PROFILE
    policy_texts.refuse_ambiguous_cluster_profile(program, basis.scheduler_name)
    return (
        cluster_policies.find_cluster_profile(program, basis.scheduler_name)
        or two_sided_cluster.NO_PROFILE
    )


def _make_unscheduled_binding(binding: objects.Binding) -> objects.Binding:
    """Return a binding as it was when created: without clusters and never scheduled."""
    spec = msgspec.structs.replace(binding.spec, clusters=(), reschedule_triggered_at=None)
    return msgspec.structs.replace(binding, spec=spec, status=objects.BindingStatus())


def _classify_change(old: BindingFate, new: BindingFate) -> BindingChangeKind:
    """Return the kind of difference between two fates."""
    if old.shares is None or new.shares is None:
        if old.shares is not None:
            return BindingChangeKind.UNSCHEDULABLE
        if new.shares is not None:
            return BindingChangeKind.SCHEDULABLE
        return BindingChangeKind.SAME if old.message == new.message else BindingChangeKind.REASON
    if old.shares == new.shares:
        return BindingChangeKind.SAME
    is_among_same = old.shares.keys() == new.shares.keys()
    return BindingChangeKind.REPLICAS if is_among_same else BindingChangeKind.CLUSTERS


def _matches_old_result(outcome: BindingChangeKind, old: BindingFate, now: BindingFate) -> bool:
    """Return whether the fate `now` equals the old one in the respect that `outcome` describes."""
    match outcome:
        case BindingChangeKind.UNSCHEDULABLE:
            return now.shares is not None
        case BindingChangeKind.SCHEDULABLE:
            return now.shares is None
        case BindingChangeKind.CLUSTERS:
            return now.shares is not None and now.shares.keys() == (old.shares or {}).keys()
        case _:
            return now == old
