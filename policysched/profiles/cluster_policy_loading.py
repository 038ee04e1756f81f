"""Load the cluster policies of a profile from policy texts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors, spelling
from policysched.inputs import metrics_file
from policysched.karmada.policies import cluster_policies
from policysched.profiles import named_profile
from policysched.profiles import policies as policy_sets

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

    from policysched.karmada.policies import cluster_rows
    from policysched.lang.checked import checked


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterPolicyInputs:
    """Inputs of `load_cluster_policies`.

    Attributes:
        paths: policy paths, as `policy_sources.read_policy_texts` accepts them.
        now: time at which rules and samples are evaluated.
        params: param name → value, as text.
        metrics: path of a metrics file, see `metrics_file`; None for no samples.
        scheduler_name: profile to load; None for the only profile with cluster policies.
    """

    paths: tuple[str, ...]
    now: datetime.datetime
    params: Mapping[str, str] = dataclasses.field(default_factory=dict)
    metrics: str | None = None
    scheduler_name: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class LoadedClusterPolicies:
    """The loaded cluster policies and the findings of loading them.

    Attributes:
        policies: the cluster policies; None if the texts declare none.
        warnings: rendered findings that are not errors.
        unmeasured: names of metrics that have no sample for any cluster, sorted.
        metrics: the parsed metrics file, or None.
        policy_set: all policies; None if none are named.
    """

    policies: cluster_policies.ClusterPolicies | None
    warnings: tuple[str, ...]
    unmeasured: tuple[str, ...]
    metrics: metrics_file.MetricsFile | None = None
    policy_set: policy_sets.PolicySet | None = None

    @property
    def content_hash(self) -> str:
        """Hash of the policies and params; "" without policies."""
        return self.policy_set.content_hash if self.policy_set else ""


def load_cluster_policies(inputs: ClusterPolicyInputs) -> LoadedClusterPolicies:
    """Return the cluster policies at `inputs.now`, with the samples of their metrics.

    Raises:
        InputError: a policy text or the metrics file is invalid or cannot be read.
        ConfigurationError: the profile is ambiguous, or there is no profile with the given name.
    """
    policy_set = policy_sets.load_policy_set(
        inputs.paths,
        inputs.params,
        inputs.scheduler_name,
        now=inputs.now,
        judge=named_profile.make_other_profile_finding_dropper(inputs.scheduler_name),
    )
    samples: metrics_file.Samples = {}
    file = None
    if inputs.metrics is not None:
        file = metrics_file.read_metrics_file(inputs.metrics, policy_set.all_metrics, inputs.now)
        samples = file.samples
    found = make_cluster_policies(policy_set, inputs.scheduler_name, clocks.ManualClock(inputs.now))
    read = found.metrics if found else ()
    for metric in read:
        if found is not None and metric.key in samples:
            found.refresh_samples(metric.key, samples[metric.key])
    unmeasured = sorted(metric.name for metric in read if not samples.get(metric.key))
    return LoadedClusterPolicies(found, policy_set.warnings, tuple(unmeasured), file, policy_set)


def make_cluster_policies(
    policy_set: policy_sets.PolicySet,
    scheduler_name: str | None,
    clock: clocks.Clock,
    rows: cluster_rows.ClusterRows | None = None,
) -> cluster_policies.ClusterPolicies | None:
    """Return the cluster policies of a profile without samples; None if it has none.

    Args:
        policy_set: the policies of all profiles.
        scheduler_name: name of the profile; None for the only one with cluster policies.
        clock: source of the evaluation time.
        rows: rows shared with earlier policies; see `ClusterPolicies`.

    Raises:
        ConfigurationError: several profiles have cluster policies, and no name selects one.
    """
    program = policy_set.program
    if program is None:
        return None
    refuse_ambiguous_cluster_profile(program, scheduler_name)
    return cluster_policies.make_cluster_policies(program, scheduler_name, clock, rows)


def refuse_ambiguous_cluster_profile(
    program: checked.CheckedProgram, scheduler_name: str | None
) -> None:
    """Reject a program with several candidate profiles for cluster policies.

    Raises:
        ConfigurationError: several profiles have cluster policies, and `scheduler_name` is None.
    """
    profiles = [each for each in program.profiles if each.cluster_policies]
    if scheduler_name is None and len(profiles) > 1:
        names = spelling.join_alternatives(f"`{each.name}`" for each in profiles)
        raise errors.ConfigurationError(
            "--scheduler-name",
            "several profiles have cluster policies",
            help=f"choose one of {names}",
        )
