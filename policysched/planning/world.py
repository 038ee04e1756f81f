"""One cluster, and everything that decides about its pods.

These are the old policies, the new ones, and the new ones without some of the edits. All decide
about the same cache, so a difference between two decisions is one of the policies alone.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from policysched.cluster import cache as caches
from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler import needs
from policysched.framework import handles, runtime
from policysched.inputs import cluster_file, metrics_file
from policysched.lang.checked import checked
from policysched.offline import offline_cluster, sessions
from policysched.planning import edits, sides
from policysched.profiles import policies, profile_choice

_VARIANTS_KEPT = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Basis:
    """What decides, whatever the cluster.

    Attributes:
        old: the policies as they are.
        new: the policies as they would be.
        now: the time of all decisions.
        samples: of metrics, by the keys of both sides.
        scheduler_name: the profile that stands for all pods, None for each pod's own.
    """

    old: sides.Side
    new: sides.Side
    now: datetime.datetime
    samples: metrics_file.Samples = dataclasses.field(default_factory=dict)
    scheduler_name: str | None = None

    def unmeasured(self) -> list[str]:
        """Return the names of metrics that rules read and of which no node has a sample."""
        name = self.scheduler_name
        read = {**self.old.metrics_read(name), **self.new.metrics_read(name)}
        return sorted({name for key, name in read.items() if not self.samples.get(key)})

    def leaves_out(self, side: sides.Side) -> Callable[[str], bool]:
        """Return the test for schedulerNames whose pods a side leaves undecided."""
        other = self.new if side is self.old else self.old
        return functools.partial(side.leaves_out, other)

    def decider(
        self, side: sides.Side, found: cluster_file.ClusterObjects, where: str
    ) -> sessions.Decider:
        """Return what decides by one side alone, on a cluster of its own; see `offline`."""
        samples = {each.key: self.samples.get(each.key, {}) for each in side.policies.metrics}
        basis = sessions.Basis(
            side.policies, self.now, samples, self.scheduler_name, self.leaves_out(side)
        )
        return basis.decider(found, where)


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """The profiles that decide a pod on both sides.

    Attributes:
        old: schedulerName of the old profile, None where no old profile serves the pod.
        new: the same of the new one.
    """

    old: str | None
    new: str | None


class World:
    """A cluster under both sides.

    Attributes:
        cluster: its cache holds what both sides read.
        old: what decides by the old side.
        new: what decides by the new side.
    """

    def __init__(self, basis: Basis, found: cluster_file.ClusterObjects, where: str) -> None:
        """Take in a cluster; `where` names it in errors.

        Raises:
            InputError: the cluster makes no sense, or a profile cannot be made.
        """
        self._basis = basis
        self.cluster = offline_cluster.empty(basis.now)
        old, new = self._made(basis.old.policies), self._made(basis.new.policies)
        keys = old.annotation_keys | new.annotation_keys
        offline_cluster.fill(self.cluster, found, where, keys)
        self.cache.follow_metrics(needs.both(old.metric_needs, new.metric_needs))
        for metric, samples in basis.samples.items():
            self.cache.metrics.refresh(metric, samples)
        forced = basis.scheduler_name
        self.old = Served(old, forced, basis.leaves_out(basis.old))
        self.new = Served(new, forced, basis.leaves_out(basis.new))
        for info in self.cluster.pending:
            if not self.new.choice.queues(info):
                self.cache.nominated.remove(info.uid)
        self._wordings = basis.old.wording(), basis.new.wording()
        self._edits: dict[Pair, list[edits.Edit]] = {}
        self._relevant: dict[tuple[Pair, int], list[edits.Edit]] = {}
        self._variants: dict[tuple[Pair, frozenset[edits.Key]], runtime.Framework] = {}

    @property
    def cache(self) -> caches.Cache:
        """The one cache."""
        return self.cluster.cache

    def snapshot(self) -> snapshot.Snapshot:
        """Return what decisions see now."""
        return self.cache.snapshot()

    def pair(self, info: pod_shape.PodInfo) -> Pair:
        """Return which profiles decide a pod."""
        return Pair(self.old.name_of(info), self.new.name_of(info))

    def edits_of(self, pair: Pair) -> list[edits.Edit]:
        """Return the edits between two profiles, and those elsewhere that keep all pods away.

        They are in an order of their own, whatever that of the texts is.
        """
        known = self._edits.get(pair)
        if known is None:
            known = self._edits[pair] = self._find_edits(pair)
        return known

    def all_edits(self) -> list[edits.Edit]:
        """Return the edits between profiles that decide pods, or have the same name.

        Their `homes` are empty if an edit was made in all profiles. If one profile decides all
        pods, only the edits about it are returned.
        """
        old, new = _programs(self._basis)
        implied = _implied_name(self._basis)
        met = {name for pair in self._edits for name in (pair.old, pair.new)}
        names = {**_by_name(new, implied), **_by_name(old, implied)}
        forced = self._basis.scheduler_name
        pairs = [
            Pair(name, name)
            for name in names
            if name not in met and (forced is None or name == forced)
        ]
        found: dict[edits.Edit, set[str | None]] = {}
        compared = [*self._edits, *pairs]
        for each in [each for pair in compared for each in self.edits_of(pair)]:
            found.setdefault(each, set()).update(each.homes)
        everywhere = {pair.new or pair.old for pair in compared}
        return [
            dataclasses.replace(each, homes=frozenset(homes if homes != everywhere else ()))
            for each, homes in found.items()
        ]

    def relevant_edits(self, pair: Pair, shape: pod_shape.PodShape) -> list[edits.Edit]:
        """Return the edits by which decisions about pods of a shape may differ."""
        key = (pair, shape.index)
        known = self._relevant.get(key)
        if known is None:
            namespaces = self.cache.counts.namespaces
            known = [each for each in self.edits_of(pair) if each.concerns(shape, namespaces)]
            self._relevant[key] = known
        return known

    def without(self, pair: Pair, taken_back: Iterable[edits.Edit]) -> runtime.Framework:
        """Return the new profile of a pair without some of its edits."""
        wanted = {each.key for each in taken_back}
        gone = [each for each in self.edits_of(pair) if each.key in wanted]
        key = (pair, frozenset(wanted))
        known = self._variants.pop(key, None) or self._variant(pair, gone)
        self._variants[key] = known
        if len(self._variants) > _VARIANTS_KEPT:
            self._variants.pop(next(iter(self._variants)))
        return known

    def _find_edits(self, pair: Pair) -> list[edits.Edit]:
        old, new = _programs(self._basis)
        implied = _implied_name(self._basis)
        before, after = _by_name(old, implied), _by_name(new, implied)
        said = self._wordings
        own = edits.between(before.get(pair.old, NO_PROFILE), after.get(pair.new, NO_PROFILE), said)
        found = [(pair.new, each) for each in own]
        for name in after:
            elsewhere = edits.between(before.get(name, NO_PROFILE), after[name], said)
            found += [(name, each) for each in edits.repelling(elsewhere)]
        homes: dict[edits.Edit, set[str | None]] = {}
        for name, each in found:
            homes.setdefault(each, set()).add(name)
        merged = [
            dataclasses.replace(each, homes=frozenset(names)) for each, names in homes.items()
        ]
        return sorted(merged, key=lambda each: each.key)

    def _variant(self, pair: Pair, gone: list[edits.Edit]) -> runtime.Framework:
        """Compile the new program without some edits, in whichever of its profiles they are."""
        side, program = self._basis.new.policies, _programs(self._basis)[1]
        names = [each.name or _implied_name(self._basis) for each in program.profiles]
        of_old = _all_metrics(_programs(self._basis)[0])
        profiles = tuple(
            _with_metrics(edits.undone(each, [e for e in gone if name in e.homes]), of_old)
            for name, each in zip(names, program.profiles, strict=True)
        )
        changed = dataclasses.replace(program, profiles=profiles)
        specs = tuple(policies.specs_of(changed, _implied_name(self._basis)))
        made = self._made(dataclasses.replace(side, program=changed, specs=specs))
        return runtime.Framework(made.by_name[pair.new or names[0]], None)

    def _made(self, policy_set: policies.PolicySet) -> policies.Profiles:
        handle = dataclasses.replace(
            handles.Handle(),
            owners=self.cache.owners,
            storage=self.cache.storage,
            budgets=self.cache.budgets,
        )
        return policies.require(policies.make(policy_set, handle))


class Served:
    """What decides by one side, pods found by their schedulerName.

    Attributes:
        choice: of the profile of a pod.
        profiles: made on the cache of the world.
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

    def name_of(self, info: pod_shape.PodInfo) -> str | None:
        """Return the profile that decides a pod, None for none."""
        asked = info.pod.spec.scheduler_name
        if asked not in self._names:
            framework = self.choice.of(info)
            self._names[asked] = framework.profile.scheduler_name if framework else None
        return self._names[asked]

    def framework(self, name: str) -> runtime.Framework:
        """Return what decides by a profile."""
        return self._frameworks[name]


def as_new(info: pod_shape.PodInfo) -> pod_shape.PodInfo:
    """Return a placed pod as one that waits for its first node."""
    return pod_shape.PodInfo(without_node(info.pod), info.shape)


def without_node(pod: objects.Pod) -> objects.Pod:
    """Return a pod as it was created: neither bound nor nominated."""
    spec = msgspec.structs.replace(pod.spec, node_name="")
    said = msgspec.structs.replace(pod.status, nominated_node_name="")
    return msgspec.structs.replace(pod, spec=spec, status=said)


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
"""A profile that says nothing."""


def _programs(basis: Basis) -> tuple[checked.CheckedProgram, checked.CheckedProgram]:
    old, new = basis.old.policies.program, basis.new.policies.program
    if old is None or new is None:
        raise AssertionError("a side was made without a text")
    return old, new


def _implied_name(basis: Basis) -> str:
    return basis.scheduler_name or profile_choice.DEFAULT_SCHEDULER_NAME


def _by_name(
    program: checked.CheckedProgram, implied: str
) -> dict[str | None, checked.CheckedProfile]:
    return {each.name or implied: each for each in program.profiles}


def _all_metrics(program: checked.CheckedProgram) -> dict[str, checked.CheckedMetric]:
    return {metric.key: metric for each in program.profiles for metric in each.metrics}


def _with_metrics(
    profile: checked.CheckedProfile, others: dict[str, checked.CheckedMetric]
) -> checked.CheckedProfile:
    known = {metric.key for metric in profile.metrics}
    missing = tuple(metric for key, metric in others.items() if key not in known)
    return dataclasses.replace(profile, metrics=(*profile.metrics, *missing))
