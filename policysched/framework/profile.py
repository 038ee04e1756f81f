"""A profile: the plugins and policies that pods of one schedulerName are scheduled by."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from policysched.cluster import elapsed_time, snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape, shape_projection
from policysched.framework import interface, preemption_limits

TolerationsFn = Callable[[pod_shape.PodShape, snapshot.Snapshot], tuple[objects.Toleration, ...]]
"""Tolerations may depend on labels of namespaces and on the time, so it takes the snapshot."""


def own_tolerations(
    shape: pod_shape.PodShape, snap: snapshot.Snapshot
) -> tuple[objects.Toleration, ...]:
    """Return the pod's own tolerations: what holds without policies."""
    del snap
    return shape.spec.tolerations


@dataclasses.dataclass(frozen=True)
class Profile:
    """What a compiled policy set and a plugin configuration amount to; immutable.

    Attributes:
        scheduler_name: pods with this `spec.schedulerName` are ours.
        plugins: all plugins in order, policy rules last; each acts at the extension points whose
            methods it has and that `disabled_points` does not take away.
        weights: weight of each Score plugin, by plugin name or `POLICY/RULE`.
        disabled_points: extension points a plugin does not act at, by plugin name.
        tolerations: the pod's own tolerations and those that policies add.
        policy_hash: identifies the policy text, "" without policies.
        policies: names of the policies in force, for events and logs.
        preemption_limits: what policies forbid preemption; None if they say nothing about it.
        time_bounds: times of pods and nodes at which answers of policies change.
        projection: what plugins of this package read of pods, so that shapes that differ in nothing
            of it share answers; None where only equal pods do.
    """

    scheduler_name: str
    plugins: tuple[interface.Plugin, ...]
    weights: Mapping[str, int]
    disabled_points: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)
    tolerations: TolerationsFn = own_tolerations
    policy_hash: str = ""
    policies: tuple[str, ...] = ()
    preemption_limits: preemption_limits.PreemptionLimits | None = None
    time_bounds: elapsed_time.TimeBounds = elapsed_time.NO_BOUNDS
    projection: shape_projection.PodFieldsRead | None = None
