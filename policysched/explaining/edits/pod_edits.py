"""Finds edits to the pod: node selection, tolerations, requests, ports, affinity and spread."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import structs

from policysched.cluster.objects import objects
from policysched.explaining import suggested_edit, trials
from policysched.explaining.edits import affinity_edits, request_edits, selector_edits, spread_edits
from policysched.explaining.facts import rejections
from policysched.plugins import names
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from policysched.plugins.kernels import tolerations

_MOST_TAINTS = 10
_MOST_LABELS = 10


@dataclasses.dataclass(frozen=True, slots=True)
class ProposedPodEdit:
    """An edit to try and the pod that results from it."""

    said: suggested_edit.SuggestedEdit
    pod: objects.Pod


def find_pod_edits(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the single edits to the pod that make it fit."""
    yield from request_edits.find_request_edits(tried, known)
    if known.can_single_edit_suffice(names.POD_TOPOLOGY_SPREAD):
        yield from _find_spread_constraint_edits(tried)
    for plugin, propose in _PROPOSING.items():
        if not known.can_single_edit_suffice(plugin):
            continue
        for proposal in propose(tried, known):
            if tried.is_limit_reached:
                return
            nodes = tried.find_feasible_nodes(proposal.pod)
            if nodes:
                yield proposal.said.add_fitting_nodes(nodes)


def replace_pod_spec(pod: objects.Pod, **changes: object) -> objects.Pod:
    """Return the pod with the given spec fields replaced."""
    return structs.replace(pod, spec=structs.replace(pod.spec, **changes))


# --- node selection ------------------------------------------------------------------------------


def _propose_node_selection_changes(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[ProposedPodEdit]:
    """Propose edits to nodeSelector and to the required node affinity."""
    del known
    pod = tried.info.pod
    words = selector_edits.build_label_vocabulary(tried)
    for said, selector in selector_edits.list_node_selector_edits(pod.spec.node_selector, words):
        yield ProposedPodEdit(said, replace_pod_spec(pod, node_selector=selector))
    affinity = pod.spec.affinity or objects.Affinity()
    node_affinity = affinity.node_affinity or objects.NodeAffinity()
    required = node_affinity.required_during_scheduling_ignored_during_execution
    if required is None:
        return
    for said, other in selector_edits.list_required_affinity_edits(
        required, words, selector_edits.list_node_names(tried)
    ):
        changed = structs.replace(
            node_affinity, required_during_scheduling_ignored_during_execution=other
        )
        edited = structs.replace(affinity, node_affinity=changed)
        yield ProposedPodEdit(said, replace_pod_spec(pod, affinity=edited))


# --- taints --------------------------------------------------------------------------------------


def _propose_tolerations(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[ProposedPodEdit]:
    """Propose tolerations for nodes that only taints reject, the most frequent taints first."""
    pod = tried.info.pod
    own = tried.framework.profile.tolerations(tried.info.shape, tried.take_snapshot())
    several = [
        [taint for taint in tried.get_node(node).spec.taints if tolerations.repels((taint,), own)]
        for node in known.find_nodes_rejected_only_by(names.TAINT_TOLERATION)
    ]
    counts = Counter(taint for taints in several for taint in taints)
    ordered = sorted(counts, key=lambda taint: (-counts[taint], taint.key, taint.value))
    for taint in ordered[:_MOST_TAINTS]:
        operator = "Equal" if taint.value else "Exists"
        added = objects.Toleration(taint.key, operator, taint.value, taint.effect)
        said = suggested_edit.SuggestedEdit(
            "pod",
            "toleration",
            "spec.tolerations",
            None,
            str(taint),
            f"add a toleration for the taint {taint} to the pod",
            suggested_edit.ADJUSTS_POD,
        )
        more = (*pod.spec.tolerations, added)
        yield ProposedPodEdit(said, replace_pod_spec(pod, tolerations=more))
    yield from _propose_wide_tolerations(pod, several)


def _propose_wide_tolerations(
    pod: objects.Pod, several: Sequence[Sequence[objects.Taint]]
) -> Iterator[ProposedPodEdit]:
    """Propose single tolerations that cover several taints, for nodes with more than one taint."""
    keys = [{taint.key for taint in taints} for taints in several if len(taints) > 1]
    wide = [(key, "with the key ") for key in sorted(set[str]().union(*keys))[:_MOST_TAINTS]]
    for key, place in [*wide, ("", "")] if keys else []:
        written = f"{{key: {key}, operator: Exists}}" if key else "{operator: Exists}"
        text = f"add a toleration for all taints {place}{key}".rstrip() + " to the pod"
        said = suggested_edit.SuggestedEdit(
            "pod",
            "toleration",
            "spec.tolerations",
            None,
            written,
            text,
            suggested_edit.DROPS_OF_POD,
        )
        added = (*pod.spec.tolerations, objects.Toleration(key, "Exists", "", ""))
        yield ProposedPodEdit(said, replace_pod_spec(pod, tolerations=added))


# --- ports, affinity, spread ---------------------------------------------------------------------


def _propose_dropping_host_ports(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[ProposedPodEdit]:
    """Propose dropping each host port of the pod's containers and init containers."""
    del known
    pod = tried.info.pod
    for field, containers in (
        ("containers", pod.spec.containers),
        ("init_containers", pod.spec.init_containers),
    ):
        for at, container in enumerate(containers):
            for port in container.ports:
                if not port.host_port:
                    continue
                others = tuple(each for each in container.ports if each != port)
                changed = _replace_container(
                    containers, at, structs.replace(container, ports=others)
                )
                said = _make_drop_edit(
                    "hostPort",
                    f"container {container.name}",
                    f"{port.host_port}/{port.protocol}",
                    f"drop host port {port.host_port}/{port.protocol} of container "
                    f"{container.name}",
                )
                yield ProposedPodEdit(said, replace_pod_spec(pod, **{field: changed}))


def _replace_container(
    items: Sequence[objects.Container], at: int, item: objects.Container
) -> object:
    return (*items[:at], item, *items[at + 1 :])


def _propose_pod_affinity_changes(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[ProposedPodEdit]:
    """Propose correcting or dropping required pod (anti-)affinity terms, or dropping labels.

    Labels are dropped only if the anti-affinity of a placed pod rejects the pod.
    """
    pod = tried.info.pod
    affinity = pod.spec.affinity or objects.Affinity()
    for field, written in (
        ("pod_affinity", "podAffinity"),
        ("pod_anti_affinity", "podAntiAffinity"),
    ):
        held: objects.PodAffinity = getattr(affinity, field) or objects.PodAffinity()
        terms = held.required_during_scheduling_ignored_during_execution
        for at, term in enumerate(terms):
            left = structs.replace(
                held,
                required_during_scheduling_ignored_during_execution=(
                    *terms[:at],
                    *terms[at + 1 :],
                ),
            )
            for corrected, other in (
                affinity_edits.propose_affinity_term_corrections(tried, term)
                if field == "pod_affinity"
                else ()
            ):
                several = (*terms[:at], other, *terms[at + 1 :])
                near = structs.replace(
                    held, required_during_scheduling_ignored_during_execution=several
                )
                edited = structs.replace(affinity, **{field: near})
                yield ProposedPodEdit(corrected, replace_pod_spec(pod, affinity=edited))
            place = f"required {written} term {at + 1} (topologyKey {term.topology_key})"
            said = _make_drop_edit(written, f"spec.affinity.{written}", place, f"drop the {place}")
            edited = structs.replace(affinity, **{field: left})
            yield ProposedPodEdit(said, replace_pod_spec(pod, affinity=edited))

    if any(
        inter_pod_affinity.REASON_EXISTING in answer.reasons
        for answers in known.answers.values()
        for answer in answers
    ):
        yield from _propose_dropping_labels(pod)


def _propose_dropping_labels(pod: objects.Pod) -> Iterator[ProposedPodEdit]:
    """Propose dropping labels that the anti-affinity of placed pods might select."""
    for key, value in list(pod.metadata.labels.items())[:_MOST_LABELS]:
        others = {each: v for each, v in pod.metadata.labels.items() if each != key}
        metadata = structs.replace(pod.metadata, labels=others)
        said = _make_drop_edit(
            "label", f"metadata.labels[{key}]", value, f"drop the label {key}={value}"
        )
        yield ProposedPodEdit(said, structs.replace(pod, metadata=metadata))


def _make_drop_edit(kind: str, what: str, before: str, text: str) -> suggested_edit.SuggestedEdit:
    """Return an edit that drops `before` from the pod."""
    return suggested_edit.SuggestedEdit(
        "pod", kind, what, before, None, text, suggested_edit.DROPS_OF_POD
    )


def _find_spread_constraint_edits(
    tried: trials.PodTrials,
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the changes to single fields of hard spread constraints that make the pod fit."""
    pod = tried.info.pod
    constraints = pod.spec.topology_spread_constraints
    words = selector_edits.build_label_vocabulary(tried)
    for at, constraint in enumerate(constraints):
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue

        def fits(
            fields: Mapping[str, object],
            at: int = at,
            constraint: objects.TopologySpreadConstraint = constraint,
        ) -> tuple[str, ...]:
            other = structs.replace(constraint, **fields)
            several = (*constraints[:at], other, *constraints[at + 1 :])
            edited = replace_pod_spec(pod, topology_spread_constraints=several)
            return () if tried.is_limit_reached else tried.find_feasible_nodes(edited)

        what = f"spec.topologySpreadConstraints[{at}] ({constraint.topology_key})"
        for near in words.find_similar_keys(constraint.topology_key):
            nodes = fits({"topology_key": near})
            if nodes:
                before = constraint.topology_key
                text = f"topologyKey of {what}: did you mean {near}? no node has the label {before}"
                said = suggested_edit.SuggestedEdit(
                    "pod", "topologySpread", what, before, near, text, suggested_edit.CORRECTS
                )
                yield said.add_fitting_nodes(nodes)
        yield from _find_constraint_relaxations(tried, constraint, what, fits)


def _find_constraint_relaxations(
    tried: trials.PodTrials,
    constraint: objects.TopologySpreadConstraint,
    what: str,
    fits: spread_edits.Fits,
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield relaxations of one spread constraint, except its topologyKey, that make the pod fit."""
    found = [
        (each, suggested_edit.ADJUSTS_POD)
        for each in spread_edits.find_spread_relaxations(constraint, fits)
    ]
    for key in constraint.match_label_keys:
        others = tuple(each for each in constraint.match_label_keys if each != key)
        without = ("matchLabelKeys", key, "", fits({"match_label_keys": others}))
        found.append((spread_edits.SpreadRelaxation(*without), suggested_edit.DROPS_OF_POD))
    soft = fits({"when_unsatisfiable": "ScheduleAnyway"})
    said = ("whenUnsatisfiable", "DoNotSchedule", "ScheduleAnyway", soft)
    found.append((spread_edits.SpreadRelaxation(*said), suggested_edit.DROPS_OF_POD))
    for each, effort in found:
        if not each.nodes or tried.is_limit_reached:
            continue
        text = f"{each.field} of {what} from {each.before} to {each.after}"
        if not each.after:
            text = f"drop {each.before} from the {each.field} of {what}"
        after = each.after or None
        edited = suggested_edit.SuggestedEdit(
            "pod", "topologySpread", what, each.before, after, text, effort
        )
        yield edited.add_fitting_nodes(each.nodes)


_PROPOSING: dict[
    str, Callable[[trials.PodTrials, rejections.PodRejections], Iterator[ProposedPodEdit]]
] = {
    names.NODE_AFFINITY: _propose_node_selection_changes,
    names.TAINT_TOLERATION: _propose_tolerations,
    names.NODE_PORTS: _propose_dropping_host_ports,
    names.INTER_POD_AFFINITY: _propose_pod_affinity_changes,
}
