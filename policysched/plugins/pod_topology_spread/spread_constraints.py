"""Resolve spread constraints to the form that PodTopologySpread uses, and define the defaults.

Sources: `plugins/podtopologyspread/common.go`, `apis/config/validation/validation_pluginargs.go`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import objects, selector_errors, selectors
from policysched.cluster.pods import owner_selectors, pod_shape
from policysched.lang.words import kubernetes_names
from policysched.plugins import arguments

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"
_HONOR = "Honor"

SYSTEM_DEFAULTS = (
    objects.TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    objects.TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable=SOFT),
)
"""Constraints for pods that have none, with `defaultingType: System` (`plugin.go`)."""


class DefaultSpreadConstraint(objects.TopologySpreadConstraint, frozen=True):
    """A default constraint; fields that the API server would fill with defaults are required."""

    max_skew: int = 0
    when_unsatisfiable: str = ""


class PodTopologySpreadArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments: default constraints for pods that have none, from the `System` or a `List`."""

    defaulting_type: str = "System"
    default_constraints: tuple[DefaultSpreadConstraint, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class ResolvedSpreadConstraint:
    """A constraint of one pod shape, with its selector resolved.

    Attributes:
        selector: selects the pods to count, including matchLabelKeys.
        query: query for the count column; None if the selector matches nothing. An empty selector
            counts no placed pods, although it matches every pod.
        own: 1 if the pod matches its own selector, or else 0.
    """

    max_skew: int
    topology_key: str
    selector: selectors.Selector
    query: pod_counts.PodQuery | None
    own: int
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadDefaults:
    """The constraints for pods that have none."""

    constraints: tuple[objects.TopologySpreadConstraint, ...] = SYSTEM_DEFAULTS
    is_system: bool = True


def make_spread_defaults(args: PodTopologySpreadArgs) -> SpreadDefaults:
    """Return the default constraints of the arguments.

    Raises:
        ArgumentError: the arguments are contradictory, invalid or incomplete.
    """
    given = args.default_constraints
    if args.defaulting_type == "System":
        if given:
            msg = "`defaultConstraints` are used with `defaultingType: List` only"
            raise arguments.ArgumentError(msg)
        return SpreadDefaults()
    if args.defaulting_type != "List":
        msg = f"`defaultingType` is `{args.defaulting_type}`, but must be System or List"
        raise arguments.ArgumentError(msg)
    for constraint in given:
        _validate_default_constraint(constraint)
    if len({(c.topology_key, c.when_unsatisfiable) for c in given}) < len(given):
        msg = "`defaultConstraints` repeats a topologyKey with the same whenUnsatisfiable"
        raise arguments.ArgumentError(msg)
    return SpreadDefaults(given, is_system=False)


def _validate_default_constraint(constraint: objects.TopologySpreadConstraint) -> None:
    """Raise `ArgumentError` if kube-scheduler would reject a default constraint."""
    where = f"`defaultConstraints` for `{constraint.topology_key}`"
    key_problem = kubernetes_names.find_label_key_problem(constraint.topology_key)
    if not constraint.topology_key:
        problem = "`defaultConstraints` must have a topologyKey"
    elif key_problem:
        problem = f"{where} has a topologyKey that {key_problem}"
    elif constraint.max_skew <= 0:
        problem = f"{where} must have a maxSkew of 1 or more"
    elif constraint.when_unsatisfiable not in (HARD, SOFT):
        problem = f"{where} must have a whenUnsatisfiable of {HARD} or {SOFT}"
    elif constraint.label_selector is not None:
        problem = f"{where} must not have a labelSelector: each pod's owners supply it"
    else:
        return
    raise arguments.ArgumentError(problem)


def resolve_constraints(
    shape: pod_shape.PodShape,
    when_unsatisfiable: str,
    defaults: SpreadDefaults,
    owners: owner_selectors.OwnerSelectors,
) -> tuple[ResolvedSpreadConstraint, ...]:
    """Return the constraints of pods of `shape`: their own, or else the defaults."""
    own = shape.spec.topology_spread_constraints
    wanted = [c for c in own or defaults.constraints if c.when_unsatisfiable == when_unsatisfiable]
    if own:
        return tuple(_resolve_constraint(c, _make_own_selector(c, shape), shape) for c in wanted)
    selector = owners.get_owner_selector(shape) if wanted else selectors.EVERYTHING
    if selector == selectors.EVERYTHING:
        return ()
    return tuple(_resolve_constraint(c, selector, shape) for c in wanted)


def find_selector_error(shape: pod_shape.PodShape, when_unsatisfiable: str) -> str:
    """Return the first selector error in the constraints of the pod, or ""."""
    errors = (
        selector_errors.find_label_selector_error(c.label_selector)
        for c in shape.spec.topology_spread_constraints
        if c.when_unsatisfiable == when_unsatisfiable
    )
    return next(filter(None, errors), "")


def has_all_topology_keys(
    labels: Iterable[str], constraints: Iterable[ResolvedSpreadConstraint]
) -> bool:
    """Return whether a node with these label keys has all topology keys."""
    return {c.topology_key for c in constraints}.issubset(labels)


def _make_own_selector(
    constraint: objects.TopologySpreadConstraint, shape: pod_shape.PodShape
) -> selectors.Selector:
    """Return the selector of a constraint, restricted by its matchLabelKeys."""
    selector = selectors.from_label_selector(constraint.label_selector)
    keys = [k for k in constraint.match_label_keys if k in shape.labels]
    if not keys or selector.matches_nothing:
        return selector
    same = (
        selectors.Requirement(k, selectors.LabelOperator.IN, frozenset((shape.labels[k],)))
        for k in keys
    )
    return selector.add_requirements(*same)


def _resolve_constraint(
    given: objects.TopologySpreadConstraint,
    selector: selectors.Selector,
    shape: pod_shape.PodShape,
) -> ResolvedSpreadConstraint:
    """Resolve one constraint with the given selector."""
    query: pod_counts.PodQuery | None = pod_counts.NonTerminatingPodsInNamespace(
        shape.namespace, selector
    )
    if selector.matches_nothing:
        query = None
    elif not selector.requirements:
        query = pod_counts.HypotheticalPodsInNamespace(shape.namespace)
    return ResolvedSpreadConstraint(
        max_skew=given.max_skew,
        topology_key=given.topology_key,
        selector=selector,
        query=query,
        own=int(selector.matches(shape.labels)),
        min_domains=given.min_domains or 1,
        honors_affinity=(given.node_affinity_policy or _HONOR) == _HONOR,
        honors_taints=given.node_taints_policy == _HONOR,
    )
