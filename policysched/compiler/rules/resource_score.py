"""`score LeastAllocated(cpu: 2, …)`: a strategy of NodeResourcesFit as a term of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import columns, pod_shape, snapshot
from policysched.compiler import scope
from policysched.compiler.kernels import points
from policysched.compiler.rules import base
from policysched.framework import cycle_state, interface
from policysched.lang import checked
from policysched.plugins.kernels import allocation

_ALWAYS_SCORED = ("cpu", "memory", "ephemeral-storage")
"""Every other resource is left out for pods that do not request it (`resource_allocation.go`)."""


class ResourceScore(base.ScoreRule):
    """Points of a strategy, in whole points as the plugin counts them."""

    reads: ClassVar = interface.Reads.NODE | interface.Reads.USAGE

    def __init__(self, rule: checked.ResourceScoreRule, rule_scope: scope.RuleScope) -> None:
        """Score the resources of `rule`."""
        super().__init__(rule.head, rule_scope, rule.weight)
        self._strategy = _strategy(rule)
        self._resources = rule.resources

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,) hundredths."""
        scored = [
            (name, weight)
            for name, weight in self._resources
            if name in _ALWAYS_SCORED or pod.shape.requests.amounts.get(name, 0)
        ]
        if not scored:
            return np.zeros(len(nodes), np.int64)
        amounts = [_amounts(name, pod.shape, nodes) for name, _ in scored]
        requested = np.array([each for each, _ in amounts])
        allocatable = np.array([each for _, each in amounts])
        weights = np.array([weight for _, weight in scored], np.int64)
        whole = self._strategy(requested, allocatable, weights)
        return whole * (points.FULL // interface.MAX_NODE_SCORE)


def _strategy(rule: checked.ResourceScoreRule) -> allocation.Strategy:
    match rule.strategy:
        case "LeastAllocated":
            return allocation.least_allocated
        case "MostAllocated":
            return allocation.most_allocated
        case "RequestedToCapacityRatio":
            return allocation.RequestedToCapacityRatio(rule.shape)


def _amounts(
    resource: str, shape: pod_shape.PodShape, nodes: snapshot.NodeView
) -> Sequence[columns.IntArray]:
    """Return int64 (n,) requested, the pod's own included, and int64 (n,) allocatable.

    Cpu and memory count containers without requests at their defaults.
    """
    known = nodes.snapshot.nodes
    row_resources = known.resources.find(resource)
    if row_resources is None or row_resources >= known.allocatable.shape[1]:
        return np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    allocatable = nodes.allocatable[:, row_resources]
    requests = shape.requests
    if row_resources == columns.CPU:
        return nodes.nonzero_requested[:, 0] + requests.nonzero_cpu_milli, allocatable
    if row_resources == columns.MEMORY:
        return nodes.nonzero_requested[:, 1] + requests.nonzero_memory_bytes, allocatable
    return nodes.requested[:, row_resources] + requests.amounts.get(resource, 0), allocatable


if TYPE_CHECKING:
    _score: type[interface.ScorePlugin] = ResourceScore
