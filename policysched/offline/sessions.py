"""Makes the decisions of `explain` and `simulate` about the pods of files or a running cluster."""

from __future__ import annotations

import dataclasses
import datetime
import gc
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from policysched import clock as clocks
from policysched import process
from policysched.cluster.pods import pod_shape
from policysched.extenders import interest, settings
from policysched.framework import explanation, handles, runtime
from policysched.inputs import cluster_file, metrics_file, object_lists
from policysched.offline import allocations, offline_cluster, pod_report, simulating
from policysched.profiles import named_profile, policies, profile_choice

if TYPE_CHECKING:
    from policysched.config import config
    from policysched.inputs import live_cluster


@dataclasses.dataclass(frozen=True, slots=True)
class OfflineInputs:
    """The inputs of a session.

    Attributes:
        cluster: a file, `-` for standard input, or a running cluster.
        policies: paths as in `policy_sources.read_policy_texts`.
        params: the values of params.
        metrics: the path of a metrics file; see `metrics_file`.
        now: the time of all decisions.
        scheduler_name: the profile that serves all pods; None to use the profile of each pod.
        configuration: of `run`: its profiles, plugins and extenders count; None without one.
    """

    cluster: str | live_cluster.LiveClusterReference
    now: datetime.datetime
    policies: tuple[str, ...] = ()
    params: Mapping[str, str] = dataclasses.field(default_factory=dict)
    metrics: str | None = None
    scheduler_name: str | None = None
    configuration: config.Config | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class DeciderFactory:
    """Makes deciders for clusters from the inputs that all clusters share.

    Attributes:
        policies: the source of the profiles.
        now: the time of all decisions.
        samples: the samples of metrics, keyed by metric.
        scheduler_name: the profile that serves all pods; None to use the profile of each pod.
        leaves_out: returns whether pods with a schedulerName are left to another scheduler.
        extenders: the HTTP extenders that `run` would ask; no decider asks them.
    """

    policies: policies.PolicySet
    now: datetime.datetime
    samples: metrics_file.Samples = dataclasses.field(default_factory=dict)
    scheduler_name: str | None = None
    leaves_out: Callable[[str], bool] = lambda _: False
    extenders: tuple[settings.ExtenderSettings, ...] = ()

    def make_decider(
        self,
        found: cluster_file.ClusterObjects,
        where: str,
        rng: random.Random | None = None,
    ) -> PodDecider:
        """Return the decider for the pods of a cluster; `rng` breaks ties.

        The decider has its own plugins, because plugins keep state. `where` is the name of the
        cluster in errors.

        Raises:
            InputError: the cluster is invalid, or the profile does not exist.
        """
        cluster = offline_cluster.make_empty_cluster(self.now)
        cache = cluster.cache
        handle = handles.Handle(
            handles.NoBinder(),
            cache.owners,
            storage=cache.storage,
            devices=cache.devices,
            budgets=cache.budgets,
            clock=clocks.ManualClock(self.now),  # it stands still: no search times out
            rng=rng,
        )
        profiles = policies.require_profiles(policies.make_profiles(self.policies, handle))
        offline_cluster.add_cluster_objects(
            cluster, found, where, profiles.annotation_keys, profiles.time_bounds
        )
        cluster.cache.retain_needed_metric_data(profiles.metric_needs)
        for metric, samples in self.samples.items():
            cluster.cache.metrics.refresh(metric, samples)
        frameworks = {name: runtime.Framework(prof, rng) for name, prof in profiles.by_name.items()}
        choice = profile_choice.ProfileChoice(frameworks, self.scheduler_name, self.leaves_out)
        # Only pods that would be queued keep their nomination, as in a running scheduler.
        for info in cluster.pending:
            if not choice.would_be_queued(info):
                cache.nominated.remove_nomination(info.uid)
        shadows, extenders = profiles.shadows, self.extenders
        return PodDecider(cluster, choice, shadows, self.policies, profiles, handle, extenders)


class OfflineDeciderSource:
    """Makes a decider for each cluster of the input, one after another.

    Attributes:
        factory: makes the deciders.
        clusters: the name and the objects of each cluster; they can be read only once.
        is_lines: whether the input is JSON lines.
        warnings: findings about the policies that are not errors.
        unmeasured: the names of metrics that the policies read but for which no node has a sample.
        metrics: the metrics file; None without one.
    """

    def __init__(
        self,
        inputs: OfflineInputs,
        clusters: object_lists.InputLists[cluster_file.ClusterObjects] | None = None,
    ) -> None:
        """Read everything except the clusters; `clusters` replaces those that `inputs` names.

        Raises:
            InputError: an input cannot be read or is invalid.
        """
        policy_set = policies.load_policy_set(
            inputs.policies,
            inputs.params,
            inputs.scheduler_name,
            inputs.configuration,
            now=inputs.now,
            judge=named_profile.make_other_profile_finding_dropper(inputs.scheduler_name),
        )
        samples: metrics_file.Samples = {}
        self.metrics: metrics_file.MetricsFile | None = None
        if inputs.metrics is not None:
            declared = policy_set.all_metrics
            self.metrics = metrics_file.read_metrics_file(inputs.metrics, declared, inputs.now)
            samples = self.metrics.samples
        configured = inputs.configuration
        extenders = configured.extenders if configured is not None else ()
        self.factory = DeciderFactory(
            policy_set, inputs.now, samples, inputs.scheduler_name, extenders=extenders
        )
        with process.pause_garbage_collection():
            self.clusters = clusters or _read_clusters(inputs.cluster)
        self.is_lines = self.clusters.is_lines
        self.warnings = policy_set.warnings
        read = named_profile.list_profile_node_metrics(policy_set, inputs.scheduler_name)
        unmeasured = {each.name for each in read if not samples.get(each.key)}
        self.unmeasured = tuple(sorted(unmeasured))

    def make_deciders(self, rng: random.Random | None = None) -> Iterator[PodDecider]:
        """Yield the decider of each cluster; `rng` breaks ties.

        Raises:
            InputError: a cluster cannot be read, or the profile does not exist.
        """
        with process.pause_garbage_collection():
            for where, found in self.clusters.places:
                yield self.factory.make_decider(found, where, rng)
                # Automatic collection is paused, so the garbage of this cluster is collected before
                # the next cluster.
                if self.is_lines:
                    gc.collect()


def _read_clusters(
    named: str | live_cluster.LiveClusterReference,
) -> object_lists.InputLists[cluster_file.ClusterObjects]:
    if isinstance(named, str):
        return cluster_file.read_clusters(named)
    from policysched.inputs import live_cluster  # noqa: PLC0415 - imports an HTTP client

    return object_lists.InputLists(iter([live_cluster.read_live_cluster(named)]))


@dataclasses.dataclass(frozen=True, slots=True)
class PodDecider:
    """Makes decisions about the pods of one cluster.

    Attributes:
        cluster: the cluster, with its pending and placed pods.
        choice: chooses the profile of each pod.
        shadows: the shadow policies to evaluate.
        policy_set: the source of the profiles.
        profiles: the profiles that make decisions about its pods.
        handle: the handle that their plugins received.
        extenders: the HTTP extenders that `run` would ask.
    """

    cluster: offline_cluster.OfflineCluster
    choice: profile_choice.ProfileChoice
    shadows: simulating.Shadows
    policy_set: policies.PolicySet
    profiles: policies.Profiles
    handle: handles.Handle
    extenders: tuple[settings.ExtenderSettings, ...] = ()

    def explain_pending_pods(
        self, evidence_of: Collection[str] | None = ()
    ) -> Iterator[dict[str, Any]]:
        """Yield the report about each pending pod, considered alone, in the order of the file.

        `evidence_of` has the same meaning as in `pod_report.make_pod_report`.
        """
        for info in self.cluster.pending:
            framework = self.choice.choose_framework(info)
            if framework is not None:
                yield self.make_pod_report(framework, info, evidence_of)

    def explain_pod(self, pod: str, evidence_of: Collection[str] | None = ()) -> dict[str, Any]:
        """Return the report about one pod, which `pod_report.make_pod_pending` finds.

        Raises:
            InputError: the pod does not exist, or no profile serves it.
        """
        with pod_report.make_pod_pending(self.cluster, pod) as info:
            return self.make_pod_report(self.choice.require_framework(info), info, evidence_of)

    def simulate_placements(self) -> Iterator[simulating.SimulatedPlacement]:
        """Yield the placement of each pending pod in queue order."""
        return simulating.simulate_placements(self.cluster, self.choice, self.shadows)

    def count_pods_by_extender(self) -> dict[settings.ExtenderSettings, int]:
        """Return the extenders that `run` would ask, with the number of pending pods."""
        pods = [info.pod for info in self.cluster.pending]
        return interest.count_pods_by_extender(self.extenders, pods)

    def list_allocations(self) -> list[allocations.ResourceAllocation]:
        """Return the current requests for each resource, and its capacity."""
        return allocations.list_allocations(self.cluster.cache)

    def make_pod_report(
        self,
        framework: runtime.Framework,
        info: pod_shape.PodInfo,
        evidence_of: Collection[str] | None = (),
    ) -> dict[str, Any]:
        """Return the report about the decision of `framework` about one pod."""
        return self.make_report_from_explanation(
            framework, framework.explain_pod(info, self.cluster.cache.snapshot()), evidence_of
        )

    def make_report_from_explanation(
        self,
        framework: runtime.Framework,
        found: explanation.Explanation,
        evidence_of: Collection[str] | None = (),
    ) -> dict[str, Any]:
        """Return the report about a pod from an explanation that `framework` made."""
        candidates = self.shadows.get(framework.profile.scheduler_name, ())
        snap = self.cluster.cache.snapshot()
        report = pod_report.make_report_from_explanation(
            framework, found, snap, candidates, evidence_of
        )
        extenders = interest.describe_interest(self.extenders, found.pod.pod)
        return report | ({"extenders": extenders} if extenders else {})
