"""Edits of the pod itself: node selection, tolerations, requests, ports, affinity, spread."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from policysched.cluster import objects
from policysched.explaining import edit, obstacles, request_edits, search, selector_edits, trials
from policysched.plugins import names
from policysched.plugins.kernels import tolerations

_MOST_TAINTS = 10
_MOST_SKEW = 1_000


@dataclasses.dataclass(frozen=True, slots=True)
class Proposal:
    """An edit that is to be tried, and the pod as it would be."""

    said: edit.Edit
    pod: objects.Pod


def find(tried: trials.Trials, known: obstacles.Obstacles) -> Iterator[edit.Edit]:
    """Yield the single edits of the pod by which it fits."""
    if known.may_help(names.NODE_RESOURCES_FIT):
        yield from request_edits.find(tried, known)
    if known.may_help(names.POD_TOPOLOGY_SPREAD):
        yield from _spreads(tried)
    for plugin, propose in _PROPOSING.items():
        if not known.may_help(plugin):
            continue
        for proposal in propose(tried, known):
            if tried.is_over:
                return
            nodes = tried.fits(proposal.pod)
            if nodes:
                yield proposal.said.helping(nodes)


def respecified(pod: objects.Pod, **changes: object) -> objects.Pod:
    """Return a pod with another spec."""
    return structs.replace(pod, spec=structs.replace(pod.spec, **changes))


# --- node selection ------------------------------------------------------------------------------


def _node_selection(tried: trials.Trials, known: obstacles.Obstacles) -> Iterator[Proposal]:
    del known
    pod = tried.info.pod
    words = selector_edits.vocabulary(tried)
    for said, selector in selector_edits.of_node_selector(pod.spec.node_selector, words):
        yield Proposal(said, respecified(pod, node_selector=selector))
    affinity = pod.spec.affinity or objects.Affinity()
    node_affinity = affinity.node_affinity or objects.NodeAffinity()
    required = node_affinity.required_during_scheduling_ignored_during_execution
    if required is None:
        return
    for said, other in selector_edits.of_required(required, words):
        changed = structs.replace(
            node_affinity, required_during_scheduling_ignored_during_execution=other
        )
        edited = structs.replace(affinity, node_affinity=changed)
        yield Proposal(said, respecified(pod, affinity=edited))


# --- taints --------------------------------------------------------------------------------------


def _tolerations(tried: trials.Trials, known: obstacles.Obstacles) -> Iterator[Proposal]:
    """Propose tolerations of the taints that most nodes have on which nothing else stands."""
    pod = tried.info.pod
    own = tried.framework.profile.tolerations(tried.info.shape, tried.snapshot())
    counts: dict[objects.Taint, int] = {}
    for node in known.only(names.TAINT_TOLERATION):
        for taint in tried.node(node).spec.taints:
            if tolerations.repels((taint,), own):
                counts[taint] = counts.get(taint, 0) + 1
    ordered = sorted(counts, key=lambda taint: (-counts[taint], taint.key, taint.value))
    for taint in ordered[:_MOST_TAINTS]:
        operator = "Equal" if taint.value else "Exists"
        added = objects.Toleration(taint.key, operator, taint.value, taint.effect)
        said = edit.Edit(
            "pod",
            "toleration",
            "spec.tolerations",
            None,
            taint_text(taint),
            f"add a toleration of the taint {taint_text(taint)} to the pod",
            edit.ADJUSTS_POD,
        )
        more = (*pod.spec.tolerations, added)
        yield Proposal(said, respecified(pod, tolerations=more))


def taint_text(taint: objects.Taint) -> str:
    """Return a taint as kubectl writes it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


# --- ports, affinity, spread ---------------------------------------------------------------------


def _host_ports(tried: trials.Trials, known: obstacles.Obstacles) -> Iterator[Proposal]:
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
                changed = _with(containers, at, structs.replace(container, ports=others))
                said = _dropped(
                    "hostPort",
                    f"container {container.name}",
                    f"{port.host_port}/{port.protocol}",
                    f"drop host port {port.host_port}/{port.protocol} of container "
                    f"{container.name}",
                )
                yield Proposal(said, respecified(pod, **{field: changed}))


def _with(items: Sequence[objects.Container], at: int, item: objects.Container) -> object:
    return (*items[:at], item, *items[at + 1 :])


def _pod_affinity(tried: trials.Trials, known: obstacles.Obstacles) -> Iterator[Proposal]:
    del known
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
            place = f"required {written} term {at + 1} (topologyKey {term.topology_key})"
            said = _dropped(written, f"spec.affinity.{written}", place, f"drop the {place}")
            edited = structs.replace(affinity, **{field: left})
            yield Proposal(said, respecified(pod, affinity=edited))


def _dropped(kind: str, what: str, before: str, text: str) -> edit.Edit:
    return edit.Edit("pod", kind, what, before, None, text, edit.DROPS_OF_POD)


def _spreads(tried: trials.Trials) -> Iterator[edit.Edit]:
    """Yield for each hard spread constraint the smallest maxSkew by which the pod fits."""
    pod = tried.info.pod
    constraints = pod.spec.topology_spread_constraints
    for at, constraint in enumerate(constraints):
        if constraint.when_unsatisfiable != "DoNotSchedule" or tried.is_over:
            continue

        def changed(
            at: int = at,
            constraint: objects.TopologySpreadConstraint = constraint,
            **fields: object,
        ) -> objects.Pod:
            other = structs.replace(constraint, **fields)
            several = (*constraints[:at], other, *constraints[at + 1 :])
            return respecified(pod, topology_spread_constraints=several)

        what = f"spec.topologySpreadConstraints[{at}] ({constraint.topology_key})"
        yield from _less_even(tried, constraint, changed, what)
        nodes = tried.fits(changed(when_unsatisfiable="ScheduleAnyway"))
        if nodes:
            text = f"whenUnsatisfiable of {what} from DoNotSchedule to ScheduleAnyway"
            said = ("DoNotSchedule", "ScheduleAnyway", text, edit.DROPS_OF_POD)
            yield edit.Edit("pod", "topologySpread", what, *said).helping(nodes)


def _less_even(
    tried: trials.Trials,
    constraint: objects.TopologySpreadConstraint,
    changed: Callable[..., objects.Pod],
    what: str,
) -> Iterator[edit.Edit]:
    skew = constraint.max_skew

    def fits(steps: int) -> bool:
        return not tried.is_over and bool(tried.fits(changed(max_skew=skew + steps)))

    steps = search.fewest_steps(fits, _MOST_SKEW)
    if steps is None or tried.is_over:
        return
    after = skew + steps
    text = f"maxSkew of {what} from {skew} to {after}"
    said = edit.Edit("pod", "topologySpread", what, str(skew), str(after), text, edit.ADJUSTS_POD)
    yield said.helping(tried.fits(changed(max_skew=after)))


_PROPOSING: dict[str, Callable[[trials.Trials, obstacles.Obstacles], Iterator[Proposal]]] = {
    names.NODE_AFFINITY: _node_selection,
    names.TAINT_TOLERATION: _tolerations,
    names.NODE_PORTS: _host_ports,
    names.INTER_POD_AFFINITY: _pod_affinity,
}
