"""Bindings of a Karmada control plane: what a change of cluster policies does to them.

As running pods are, each is decided as if it came again, without the clusters that it has: a
division moves as little as it can, and `reject` keeps off what is not there yet, so a binding as it
is shows a change late. Whether its next attempt moves anything is told beside that.
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
from policysched.karmada.steps import algorithm, decide
from policysched.lang.checked import cluster_profile
from policysched.planning import causes, changes, cluster_edits, edits, world
from policysched.profiles import cluster_profiles as policy_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from policysched.inputs import control_plane_file
    from policysched.lang.checked import checked
    from policysched.planning import sides

Shares = dict[str, int]


class Outcome(enum.Enum):
    """How a binding's future differs, the gravest first."""

    UNSCHEDULABLE = "unschedulable"
    """It had clusters and gets none."""
    PROFILE_REMOVED = "profileRemoved"
    """The new policies no longer declare its profile."""
    CLUSTERS = "clusters"
    """It gets other clusters."""
    REPLICAS = "replicas"
    """It gets the same clusters with other replicas."""
    SCHEDULABLE = "schedulable"
    """It had no clusters and gets some."""
    PROFILE_ADDED = "profileAdded"
    """Only the new policies declare its profile."""
    REASON = "reason"
    """It gets none for another reason."""
    PRESENT = "present"
    """It would go where it went, but its next attempt moves what is there."""
    SAME = "same"


@dataclasses.dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a binding under one side.

    Attributes:
        shares: replicas by cluster; None for nowhere.
        message: why nowhere, "" else.
    """

    shares: Shares | None
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class BindingChange:
    """A binding whose future differs.

    Attributes:
        binding: `namespace/name`, or `name`.
        present: where it is.
        lost: clusters that it gets no more.
        gained: clusters that it newly gets.
        moves_now: whether its next attempt comes to something else, with all that it has.
    """

    binding: str
    outcome: Outcome
    present: Shares
    old: Fate
    new: Fate
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    moves_now: bool
    cause: changes.Cause


@dataclasses.dataclass(slots=True)
class BindingChanges:
    """Everything that a plan found out about bindings.

    Attributes:
        bindings: that differ, by name.
        considered: how many were looked at.
        unserved: how many are left to another scheduler.
        edits: every edit of the cluster policies.
        unmeasured: names of metrics that rules read and of which no cluster has a sample.
    """

    bindings: list[BindingChange] = dataclasses.field(default_factory=list)
    considered: int = 0
    unserved: int = 0
    edits: list[edits.Edit] = dataclasses.field(default_factory=list)
    unmeasured: list[str] = dataclasses.field(default_factory=list)

    def counts(self) -> Counter[Outcome]:
        """Return how many bindings have an outcome."""
        return Counter(each.outcome for each in self.bindings)


def compare(
    basis: world.Basis,
    plane: control_plane_file.ControlPlane,
    advance: Callable[[int], None] = lambda _: None,
) -> BindingChanges:
    """Return what changes for the bindings of a control plane; `advance` counts them.

    Raises:
        ConfigurationError: it is not said which profile is meant.
    """
    looking = _Looking(basis, plane)
    found = BindingChanges(edits=looking.edits, unmeasured=looking.unmeasured())
    for binding in plane.bindings:
        advance(1)
        served = looking.serves(binding)
        if served == (False, False):
            found.unserved += 1
            continue
        found.considered += 1
        both = served == (True, True)
        change = looking.compare(binding) if both else looking.compare_profiles(binding, served)
        if change is not None:
            found.bindings.append(change)
    found.bindings.sort(key=lambda each: each.binding)
    return found


class _Looking:
    """Compares the futures of bindings, one by one."""

    def __init__(self, basis: world.Basis, plane: control_plane_file.ControlPlane) -> None:
        self._basis = basis
        self._clusters = snapshot.of(plane.clusters, plane.bindings)
        self._plugins = registry.chosen(registry.with_entry_points(registry.built_in()), ["*"])
        self._profiles = _profile(basis.old, basis), _profile(basis.new, basis)
        self.edits = cluster_edits.between(*self._profiles, (basis.old, basis.new))
        self._old, self._new = (self._algorithm(each) for each in self._profiles)
        self._without: dict[frozenset[edits.Key], algorithm.Algorithm] = {}
        self._causes = causes.KnownCauses()

    def unmeasured(self) -> list[str]:
        """Return the names of metrics that rules read and of which no cluster has a sample."""
        read = {each.key: each.name for p in self._profiles for each in p.cluster_metrics}
        return sorted({name for key, name in read.items() if not self._basis.samples.get(key)})

    def serves(self, binding: objects.Binding) -> tuple[bool, bool]:
        """Return whether the old and the new side decide a binding."""
        basis, name = self._basis, triggers.scheduler_name(binding)
        if basis.scheduler_name is not None:
            return True, True
        return not basis.leaves_out(basis.old)(name), not basis.leaves_out(basis.new)(name)

    def _has_profile_without_policies(self, binding: objects.Binding) -> bool:
        """Return whether both sides decide a binding by a profile without cluster policies."""
        basis, name = self._basis, triggers.scheduler_name(binding)
        pairs = zip((basis.old, basis.new), self._profiles, strict=True)
        return basis.scheduler_name is None and all(
            name in side.profile_names and profile.name != name for side, profile in pairs
        )

    def compare_profiles(
        self, binding: objects.Binding, served: tuple[bool, bool]
    ) -> BindingChange:
        """Return the change of a binding that one side alone decides."""
        name = triggers.scheduler_name(binding)
        without = Fate(None, f"no profile serves the schedulerName {name}")
        algorithms, fresh = (self._old, self._new), _as_new(binding)
        old, new = (
            self._fate(made, fresh) if is_served else without
            for made, is_served in zip(algorithms, served, strict=True)
        )
        word = "removed" if served[0] else "added"
        return BindingChange(
            binding.key,
            Outcome.PROFILE_REMOVED if served[0] else Outcome.PROFILE_ADDED,
            {each.name: each.replicas for each in binding.spec.clusters},
            old,
            new,
            lost=(),
            gained=(),
            moves_now=False,
            cause=changes.Cause(changes.CauseKind.PROFILE, how=f"profile `{name}` is {word}"),
        )

    def compare(self, binding: objects.Binding) -> BindingChange | None:
        """Return what changes for a binding, if anything does."""
        if self._has_profile_without_policies(binding):
            return None
        fresh = _as_new(binding)
        old, new = self._fate(self._old, fresh), self._fate(self._new, fresh)
        outcome = _outcome(old, new)
        present = {each.name: each.replicas for each in binding.spec.clusters}
        moves_now = present != {} and self._moves_now(binding)
        if outcome is Outcome.SAME and not moves_now:
            return None
        cause_of = fresh
        if outcome is Outcome.SAME:
            outcome, cause_of = Outcome.PRESENT, binding
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
            self._cause(cause_of, lost),
        )

    def _moves_now(self, binding: objects.Binding) -> bool:
        old, new = self._fate(self._old, binding), self._fate(self._new, binding)
        return old.shares != new.shares

    def _cause(self, binding: objects.Binding, lost: Sequence[str]) -> changes.Cause:
        old, new = self._fate(self._old, binding), self._fate(self._new, binding)
        how = self._against(binding, new, lost)
        relevant = [each for each in self.edits if self._concerns(each, binding)]
        outcome = _outcome(old, new)

        def explains(taken_back: Sequence[edits.Edit]) -> bool:
            return _is_as(outcome, old, self._fate(self._variant(taken_back), binding))

        alike = (tuple(each.key for each in relevant), outcome, how)
        return dataclasses.replace(self._causes.find(alike, relevant, explains), how=how)

    def _against(self, binding: objects.Binding, new: Fate, lost: Sequence[str]) -> str:
        """Return why a binding does not get a cluster that it got."""
        if new.shares is None:
            return new.message
        if not lost:
            return ""
        attempt = explanation.explain(self._new, binding, self._clusters).attempts[-1]
        for name in lost:
            for refusal in attempt.refusals.get(name, ()):
                return f"{name}: {refusal.reason}"
        return f"{lost[0]} still takes it, others come before it"

    def _concerns(self, edit: edits.Edit, binding: objects.Binding) -> bool:
        for each in (self._old.policies, self._new.policies):
            if each is not None:
                seen = each.view(binding, self._clusters)
                if edit.concerns(seen.pod.shape, seen.snap.counts.namespaces):
                    return True
        return False

    def _fate(self, made: algorithm.Algorithm, binding: objects.Binding) -> Fate:
        result = decide.decide(made, binding, self._clusters).result
        if isinstance(result, errors.Failure):
            return Fate(None, result.text)
        return Fate({each.name: each.replicas for each in result}, "")

    def _variant(self, taken_back: Sequence[edits.Edit]) -> algorithm.Algorithm:
        """Return what decides by the new side without some edits."""
        key = frozenset(each.key for each in taken_back)
        if key not in self._without:
            old, new = self._profiles
            rows = edits.undone(cluster_profile.as_rows(new), taken_back)
            metrics = {each.key: each for each in (*old.cluster_metrics, *new.cluster_metrics)}
            profile = dataclasses.replace(
                new,
                cluster_policies=rows.policies,
                cluster_metrics=tuple(metrics.values()),
                on_outage=rows.on_outage,
            )
            self._without[key] = self._algorithm(profile)
        return self._without[key]

    def _algorithm(self, profile: checked.CheckedProfile) -> algorithm.Algorithm:
        program = self._basis.new.policies.program
        if not profile.cluster_policies or program is None:
            return algorithm.Algorithm(self._plugins)
        clock = clocks.ManualClock(self._basis.now)
        made = cluster_policies.ClusterPolicies(profile, program, clock)
        for metric in profile.cluster_metrics:
            made.refresh(metric.key, self._basis.samples.get(metric.key, {}))
        return algorithm.Algorithm(self._plugins, policies=made)


def _profile(side: sides.Side, basis: world.Basis) -> checked.CheckedProfile:
    """Return the profile whose cluster policies are in force; one without any for none."""
    program = side.policies.program
    if program is None:
        return world.NO_PROFILE
    policy_texts.require_one_profile(program, basis.scheduler_name)
    return cluster_policies.profile_of(program, basis.scheduler_name) or world.NO_PROFILE


def _as_new(binding: objects.Binding) -> objects.Binding:
    """Return a binding as it was created: without clusters, and never scheduled."""
    spec = msgspec.structs.replace(binding.spec, clusters=(), reschedule_triggered_at=None)
    return msgspec.structs.replace(binding, spec=spec, status=objects.BindingStatus())


def _outcome(old: Fate, new: Fate) -> Outcome:
    if old.shares is None or new.shares is None:
        if old.shares is not None:
            return Outcome.UNSCHEDULABLE
        if new.shares is not None:
            return Outcome.SCHEDULABLE
        return Outcome.SAME if old.message == new.message else Outcome.REASON
    if old.shares == new.shares:
        return Outcome.SAME
    is_among_same = old.shares.keys() == new.shares.keys()
    return Outcome.REPLICAS if is_among_same else Outcome.CLUSTERS


def _is_as(outcome: Outcome, old: Fate, now: Fate) -> bool:
    """Return whether a decision comes to the old outcome, as far as it matters."""
    match outcome:
        case Outcome.UNSCHEDULABLE:
            return now.shares is not None
        case Outcome.SCHEDULABLE:
            return now.shares is None
        case Outcome.CLUSTERS:
            return now.shares is not None and now.shares.keys() == (old.shares or {}).keys()
        case _:
            return now == old
