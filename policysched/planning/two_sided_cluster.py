"""Holds one cluster in which both sides of a plan make decisions.

The decisions are made by the old policies, the new policies, and the new policies with some edits
undone. All of them use the same cache, so a difference between two decisions is due to the policies
alone.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Callable, Iterable
from typing import Final

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster import elapsed_time, snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler import needs
from policysched.framework import handles, runtime
from policysched.inputs import cluster_file, metrics_file
from policysched.lang.checked import checked
from policysched.offline import offline_cluster, sessions
from policysched.planning import profile_edits, sides
from policysched.profiles import policies, profile_choice

_VARIANTS_KEPT = 64


@dataclasses.dataclass(frozen=True, slots=True)
class PlanInputs:
    """The inputs of a plan that do not depend on the cluster.

    Attributes:
        old: the old policies.
        new: the new policies.
        now: the time of all decisions.
        samples: the samples of metrics, under the metric keys of both sides.
        scheduler_name: the profile that serves all pods; None to use the profile of each pod.
    """

    old: sides.PlanSide
    new: sides.PlanSide
    now: datetime.datetime
    samples: metrics_file.Samples = dataclasses.field(default_factory=dict)
    scheduler_name: str | None = None

    def find_metrics_without_samples(self) -> list[str]:
        """Return the names of metrics that rules read but for which no node has a sample."""
        name = self.scheduler_name
        read = {**self.old.list_metrics_read(name), **self.new.list_metrics_read(name)}
        return sorted({name for key, name in read.items() if not self.samples.get(key)})

    def make_unserved_predicate(self, side: sides.PlanSide) -> Callable[[str], bool]:
        """Return a predicate that is true for schedulerNames whose pods a side does not serve."""
        other = self.new if side is self.old else self.old
        return functools.partial(side.leaves_pods_unserved, other)

    def make_decider(
        self, side: sides.PlanSide, found: cluster_file.ClusterObjects, where: str
    ) -> sessions.PodDecider:
        """Return the decider of one side, with its own copy of the cluster."""
        samples = {each.key: self.samples.get(each.key, {}) for each in side.policies.node_metrics}
        basis = sessions.DeciderFactory(
            side.policies,
            self.now,
            samples,
            self.scheduler_name,
            self.make_unserved_predicate(side),
        )
        return basis.make_decider(found, where)


@dataclasses.dataclass(frozen=True, slots=True)
class DecidingProfileNames:
    """The names of the profiles that serve a pod on the two sides.

    Attributes:
        old: the schedulerName of the old profile; None if no old profile serves the pod.
        new: the schedulerName of the new profile; None if no new profile serves the pod.
    """

    old: str | None
    new: str | None


class TwoSidedCluster:
    """A cluster under both sides.

    Attributes:
        cluster: the cluster; its cache contains the data that both sides read.
        old: the frameworks of the old side.
        new: the frameworks of the new side.
    """

    def __init__(self, basis: PlanInputs, found: cluster_file.ClusterObjects, where: str) -> None:
        """Load a cluster; `where` is its name in errors.

        Raises:
            InputError: the cluster is invalid, or a profile cannot be built.
        """
        self._basis = basis
        self.cluster = offline_cluster.make_empty_cluster(basis.now)
        old, new = self._make_profiles(basis.old.policies), self._make_profiles(basis.new.policies)
        keys = old.annotation_keys | new.annotation_keys
        bounds = elapsed_time.join_bounds((old.time_bounds, new.time_bounds))
        offline_cluster.add_cluster_objects(self.cluster, found, where, keys, bounds)
        self.cache.retain_needed_metric_data(needs.both(old.metric_needs, new.metric_needs))
        for metric, samples in basis.samples.items():
            self.cache.metrics.refresh(metric, samples)
        forced = basis.scheduler_name
        self.old = SideFrameworks(old, forced, basis.make_unserved_predicate(basis.old))
        self.new = SideFrameworks(new, forced, basis.make_unserved_predicate(basis.new))
        for info in self.cluster.pending:
            if not self.new.choice.would_be_queued(info):
                self.cache.nominated.remove_nomination(info.uid)
        self._wordings = basis.old.read_definition_texts(), basis.new.read_definition_texts()
        self._edits: dict[DecidingProfileNames, list[profile_edits.ProfileEdit]] = {}
        self._relevant: dict[tuple[DecidingProfileNames, int], list[profile_edits.ProfileEdit]] = {}
        self._variants: dict[
            tuple[DecidingProfileNames, frozenset[profile_edits.Key]], runtime.Framework
        ] = {}

    @property
    def cache(self) -> caches.Cache:
        """The cache that both sides share."""
        return self.cluster.cache

    def take_snapshot(self) -> snapshot.Snapshot:
        """Return a snapshot of the current state."""
        return self.cache.snapshot()

    def find_profiles(self, info: pod_shape.PodInfo) -> DecidingProfileNames:
        """Return the profiles of both sides that serve a pod."""
        return DecidingProfileNames(
            self.old.find_profile_name(info), self.new.find_profile_name(info)
        )

    def get_edits_of_pair(self, pair: DecidingProfileNames) -> list[profile_edits.ProfileEdit]:
        """Return the edits between two profiles, and edits to other profiles that repel all pods.

        The edits are ordered by their keys, not by their places in the texts.
        """
        known = self._edits.get(pair)
        if known is None:
            known = self._edits[pair] = self._find_edits(pair)
        return known

    def list_all_edits(self) -> list[profile_edits.ProfileEdit]:
        """Return the edits between profiles that serve pods or that have the same name.

        `homes` is empty for an edit that all profiles contain. If one profile serves all pods,
        only the edits to this profile are returned.
        """
        old, new = _get_programs(self._basis)
        implied = _get_implied_profile_name(self._basis)
        met = {name for pair in self._edits for name in (pair.old, pair.new)}
        names = {**_index_profiles(new, implied), **_index_profiles(old, implied)}
        forced = self._basis.scheduler_name
        pairs = [
            DecidingProfileNames(name, name)
            for name in names
            if name not in met and (forced is None or name == forced)
        ]
        found: dict[profile_edits.ProfileEdit, set[str | None]] = {}
        compared = [*self._edits, *pairs]
        for each in [each for pair in compared for each in self.get_edits_of_pair(pair)]:
            found.setdefault(each, set()).update(each.homes)
        everywhere = {pair.new or pair.old for pair in compared}
        return [
            dataclasses.replace(each, homes=frozenset(homes if homes != everywhere else ()))
            for each, homes in found.items()
        ]

    def get_relevant_edits(
        self, pair: DecidingProfileNames, shape: pod_shape.PodShape
    ) -> list[profile_edits.ProfileEdit]:
        """Return the edits that can affect decisions for pods of a shape."""
        key = (pair, shape.index)
        known = self._relevant.get(key)
        if known is None:
            namespaces = self.cache.counts.namespaces
            known = [
                each
                for each in self.get_edits_of_pair(pair)
                if each.concerns_pods_of_shape(shape, namespaces)
            ]
            self._relevant[key] = known
        return known

    def get_framework_without(
        self, pair: DecidingProfileNames, taken_back: Iterable[profile_edits.ProfileEdit]
    ) -> runtime.Framework:
        """Return the framework of the new profile of a pair with some of its edits undone."""
        wanted = {each.key for each in taken_back}
        gone = [each for each in self.get_edits_of_pair(pair) if each.key in wanted]
        key = (pair, frozenset(wanted))
        known = self._variants.pop(key, None) or self._compile_variant(pair, gone)
        self._variants[key] = known
        # A dict keeps the order of insertion, and a used variant is inserted again, so the first
        # variant is the least recently used one.
        if len(self._variants) > _VARIANTS_KEPT:
            self._variants.pop(next(iter(self._variants)))
        return known

    def _find_edits(self, pair: DecidingProfileNames) -> list[profile_edits.ProfileEdit]:
        """Find the edits between two profiles; see `get_edits_of_pair`."""
        old, new = _get_programs(self._basis)
        implied = _get_implied_profile_name(self._basis)
        before, after = _index_profiles(old, implied), _index_profiles(new, implied)
        said = self._wordings
        own = profile_edits.find_profile_edits(
            before.get(pair.old, NO_PROFILE), after.get(pair.new, NO_PROFILE), said
        )
        found = [(pair.new, each) for each in own]
        for name in after:
            elsewhere = profile_edits.find_profile_edits(
                before.get(name, NO_PROFILE), after[name], said
            )
            found += [(name, each) for each in profile_edits.select_repelling_edits(elsewhere)]
        homes: dict[profile_edits.ProfileEdit, set[str | None]] = {}
        for name, each in found:
            homes.setdefault(each, set()).add(name)
        merged = [
            dataclasses.replace(each, homes=frozenset(names)) for each, names in homes.items()
        ]
        return sorted(merged, key=lambda each: each.key)

    def _compile_variant(
        self, pair: DecidingProfileNames, gone: list[profile_edits.ProfileEdit]
    ) -> runtime.Framework:
        """Compile the new program with some edits undone in the profiles that contain them."""
        side, program = self._basis.new.policies, _get_programs(self._basis)[1]
        names = [each.name or _get_implied_profile_name(self._basis) for each in program.profiles]
        of_old = _index_metrics(_get_programs(self._basis)[0])
        profiles = tuple(
            _add_metrics(
                profile_edits.undo_profile_edits(each, [e for e in gone if name in e.homes]), of_old
            )
            for name, each in zip(names, program.profiles, strict=True)
        )
        changed = dataclasses.replace(program, profiles=profiles)
        specs = tuple(policies.make_profile_specs(changed, _get_implied_profile_name(self._basis)))
        made = self._make_profiles(dataclasses.replace(side, program=changed, specs=specs))
        return runtime.Framework(made.by_name[pair.new or names[0]], None)

    def _make_profiles(self, policy_set: policies.PolicySet) -> policies.Profiles:
        handle = dataclasses.replace(
            handles.Handle(),
            owners=self.cache.owners,
            storage=self.cache.storage,
            devices=self.cache.devices,
            budgets=self.cache.budgets,
            clock=clocks.ManualClock(self._basis.now),  # it stands still: no search times out
        )
        return policies.require_profiles(policies.make_profiles(policy_set, handle))


class SideFrameworks:
    """The frameworks of one side, which are looked up by the schedulerName of a pod.

    Attributes:
        choice: chooses the profile of a pod.
        profiles: the profiles, which use the cache of the cluster.
    """

    def __init__(
        self, profiles: policies.Profiles, forced: str | None, leaves_out: Callable[[str], bool]
    ) -> None:
        self.profiles = profiles
        self._frameworks = {
            name: runtime.Framework(each, None) for name, each in profiles.by_name.items()
        }
        self.choice = profile_choice.ProfileChoice(self._frameworks, forced, leaves_out)
        self._names: dict[str, str | None] = {}

    def find_profile_name(self, info: pod_shape.PodInfo) -> str | None:
        """Return the schedulerName of the profile that serves a pod; None if no profile does."""
        asked = info.pod.spec.scheduler_name
        if asked not in self._names:
            framework = self.choice.choose_framework(info)
            self._names[asked] = framework.profile.scheduler_name if framework else None
        return self._names[asked]

    def get_framework(self, name: str) -> runtime.Framework:
        """Return the framework of the profile with this name."""
        return self._frameworks[name]


NO_PROFILE: Final = checked.CheckedProfile(
    name=None,
    policies=(),
    metrics=(),
    plugins=(),
    disabled=(),
    disabled_scores=(),
    disable_all_scores=False,
    builtin_weight=1,
    on_outage="skip",
    params=(),
    span=None,
)
"""A profile without policies and settings, for a side that lacks a profile."""


def _get_programs(basis: PlanInputs) -> tuple[checked.CheckedProgram, checked.CheckedProgram]:
    old, new = basis.old.policies.program, basis.new.policies.program
    if old is None or new is None:
        raise AssertionError("a side without policy texts was compared")
    return old, new


def _get_implied_profile_name(basis: PlanInputs) -> str:
    return basis.scheduler_name or profile_choice.DEFAULT_SCHEDULER_NAME


def _index_profiles(
    program: checked.CheckedProgram, implied: str
) -> dict[str | None, checked.CheckedProfile]:
    return {each.name or implied: each for each in program.profiles}


def _index_metrics(program: checked.CheckedProgram) -> dict[str, checked.CheckedMetric]:
    return {metric.key: metric for each in program.profiles for metric in each.metrics}


def _add_metrics(
    profile: checked.CheckedProfile, others: dict[str, checked.CheckedMetric]
) -> checked.CheckedProfile:
    known = {metric.key for metric in profile.metrics}
    missing = tuple(metric for key, metric in others.items() if key not in known)
    return dataclasses.replace(profile, metrics=(*profile.metrics, *missing))
