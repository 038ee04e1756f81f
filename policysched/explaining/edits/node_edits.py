"""Finds edits to single nodes: uncordon the node, remove a taint, or change a label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal

from msgspec import structs

from policysched.cluster.objects import objects
from policysched.explaining import suggested_edit, trials
from policysched.explaining.edits import selector_edits
from policysched.explaining.facts import rejections
from policysched.plugins import names, node_unschedulable
from policysched.plugins.kernels import tolerations

MOST_NODES = 5
"""The maximum number of nodes on which an edit is tried; the other nodes are only counted."""
_MOST_LABELS = 10
_MOST_VALUES = 3
_OF_KUBELETS = frozenset(
    {"kubernetes.io", "node.kubernetes.io", "topology.kubernetes.io", "beta.kubernetes.io"}
)
"""Prefixes of labels that kubelets and cloud providers set; edits never change their values."""
_CORDON_TAINT = node_unschedulable.TAINT.key

Supposing = Callable[[str], AbstractContextManager[None]]
"""Returns a context manager that applies the edit to the named node until the context exits."""


def find_node_edits(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the edits to single nodes that make the pod fit on the edited node."""
    yield from _try_uncordoning(tried, known)
    yield from _try_removing_only_untolerated_taint(tried, known)
    yield from _try_adding_labels(tried, known)


def try_node_edit(
    tried: trials.PodTrials,
    said: suggested_edit.SuggestedEdit,
    nodes: Sequence[str],
    suppose: Supposing,
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the edit with the nodes on which it makes the pod fit; nothing if there are none."""
    able = []
    for node in nodes[:MOST_NODES]:
        if tried.is_limit_reached:
            break
        with suppose(node):
            if node in tried.find_feasible_nodes():
                able.append(node)
    if able:
        yield said.add_fitting_nodes(able, max(0, len(nodes) - MOST_NODES))


def _make_node_edit(
    kind: str, what: str, before: str | None, after: str | None, text: str
) -> suggested_edit.SuggestedEdit:
    return suggested_edit.SuggestedEdit(
        "node", kind, what, before, after, text, suggested_edit.CHANGES_NODE
    )


def _try_uncordoning(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the edit that uncordons a node and removes its unschedulable taint."""
    cordoned = [
        node
        for node in known.find_nodes_to_edit(names.NODE_UNSCHEDULABLE, names.TAINT_TOLERATION)
        if tried.get_node(node).spec.unschedulable
    ]

    def uncordoned(name: str) -> AbstractContextManager[None]:
        node = tried.get_node(name)
        taints = tuple(taint for taint in node.spec.taints if taint.key != _CORDON_TAINT)
        spec = structs.replace(node.spec, unschedulable=False, taints=taints)
        return tried.suppose_nodes([structs.replace(node, spec=spec)])

    said = _make_node_edit("uncordon", "spec.unschedulable", "true", None, "uncordon a node")
    yield from try_node_edit(tried, said, cordoned, uncordoned)


def _try_removing_only_untolerated_taint(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the removals of a taint from nodes on which it is the only untolerated taint."""
    own = tried.framework.profile.tolerations(tried.info.shape, tried.take_snapshot())
    having: defaultdict[objects.Taint, list[str]] = defaultdict(list)
    for name in known.find_nodes_to_edit(names.TAINT_TOLERATION):
        repelling = [t for t in tried.get_node(name).spec.taints if tolerations.repels((t,), own)]
        if len(repelling) == 1 and repelling[0].key != _CORDON_TAINT:
            having[repelling[0]].append(name)
    for taint, nodes in having.items():
        yield from _try_removing_taint(tried, nodes, taint)


def try_removing_taints(
    tried: trials.PodTrials, nodes: Sequence[str], key: str
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the removals of a single taint with the given key that make the pod fit on the node."""
    having: defaultdict[objects.Taint, list[str]] = defaultdict(list)
    for name in nodes:
        for taint in tried.get_node(name).spec.taints:
            if taint.key == key:
                having[taint].append(name)
    for taint, tainted in having.items():
        yield from _try_removing_taint(tried, tainted, taint)


def _try_removing_taint(
    tried: trials.PodTrials, nodes: Sequence[str], taint: objects.Taint
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the removal of a taint with the nodes on which the pod fits without it."""

    def suppose_untainted(name: str) -> AbstractContextManager[None]:
        node = tried.get_node(name)
        taints = tuple(each for each in node.spec.taints if each != taint)
        spec = structs.replace(node.spec, taints=taints)
        return tried.suppose_nodes([structs.replace(node, spec=spec)])

    written = str(taint)
    said = _make_node_edit(
        "taint", "spec.taints", written, None, f"remove the taint {written} of a node"
    )
    yield from try_node_edit(tried, said, nodes, suppose_untainted)


def _try_adding_labels(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield label edits that satisfy the node selection or provide a topology key of the pod."""
    alone = known.find_nodes_to_edit(names.NODE_AFFINITY)
    for key, value in list(dict.fromkeys(_list_required_labels(tried.info.pod)))[:_MOST_LABELS]:
        yield from try_label_change(tried, alone, key, value)
    for key in _collect_topology_keys(tried.info.pod):
        yield from try_joining_domain(
            tried, known.find_nodes_rejected_only_by(names.INTER_POD_AFFINITY), key
        )


def try_joining_domain(
    tried: trials.PodTrials, nodes: Sequence[str], key: str
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield label edits that add a node to a topology domain and make the pod fit on it.

    Only nodes without the label `key` are edited.
    """
    outside = [name for name in nodes if key not in tried.get_node(name).metadata.labels]
    if outside:
        for value in selector_edits.build_label_vocabulary(tried).list_values_by_frequency(key)[
            :_MOST_VALUES
        ]:
            yield from try_label_change(tried, outside, key, value)


def try_label_change(
    tried: trials.PodTrials,
    alone: Sequence[str],
    key: str,
    value: str | None,
    noun: Literal["label", "annotation"] = "label",
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the edits to a label on one node that make the pod fit; None removes the label.

    Annotations are edited in the same way.
    """
    if noun == "label" and value is not None and value.startswith("-"):
        return  # label values begin with a letter or a digit
    field: Literal["labels", "annotations"] = "labels" if noun == "label" else "annotations"
    having: defaultdict[str | None, list[str]] = defaultdict(list)
    for name in alone:
        having[getattr(tried.get_node(name).metadata, field).get(key)].append(name)

    def changed(name: str) -> AbstractContextManager[None]:
        node = trials.replace_node_texts(tried.get_node(name), field, {key: value})
        return tried.suppose_nodes([node])

    written = None if value is None else f"{key}={value}"
    without = having.pop(None, [])
    if written is not None:
        text = f"add the {noun} {written} to a node"
        said = _make_node_edit(noun, f"metadata.{field}", None, written, text)
        yield from try_node_edit(tried, said, without, changed)
    if key.rpartition("/")[0] in _OF_KUBELETS:
        return
    for before in sorted(set(having) - {value}, key=str)[:_MOST_VALUES]:
        text = f"change the {noun} {key} of a node from {before} to {value}"
        if value is None:
            text = f"remove the {noun} {key}={before} of a node"
        said = _make_node_edit(noun, f"metadata.{field}", f"{key}={before}", written, text)
        yield from try_node_edit(tried, said, having[before], changed)


def choose_satisfying_label_value(operator: str, values: Sequence[str]) -> str | None:
    """Return a label value that satisfies a requirement; None if the label must be absent."""
    match operator:
        case "In" if values:
            return values[0]
        case "Exists":
            return "true"
        case "Gt" | "Lt" if values and values[0].lstrip("-").isdecimal():
            bound = int(values[0])
            # The value of a label cannot begin with a sign.
            return str(max(bound + 1, 0) if operator == "Gt" else bound - 1)
        case _:
            return None


def list_label_values_to_try(operator: str, values: Sequence[str]) -> list[str | None]:
    """Return label values that satisfy or violate a requirement; None removes the label."""
    present = ["true"] if operator == "DoesNotExist" else []
    return list(
        dict.fromkeys(
            (choose_satisfying_label_value(operator, values), *values[:1], *present, None)
        )
    )


def _collect_topology_keys(pod: objects.Pod) -> list[str]:
    """Return the topology keys of the pod's required affinity terms and hard spread constraints."""
    affinity = pod.spec.affinity or objects.Affinity()
    near = affinity.pod_affinity or objects.PodAffinity()
    terms = near.required_during_scheduling_ignored_during_execution
    constraints = pod.spec.topology_spread_constraints
    hard = [c.topology_key for c in constraints if c.when_unsatisfiable == "DoNotSchedule"]
    return list(dict.fromkeys([*(term.topology_key for term in terms), *hard]))


def _list_required_labels(pod: objects.Pod) -> Iterator[tuple[str, str | None]]:
    """Yield (key, value) pairs that each satisfy one requirement; None means an absent label."""
    yield from pod.spec.node_selector.items()
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    for term in required.node_selector_terms if required else ():
        for each in term.match_expressions:
            yield each.key, choose_satisfying_label_value(each.operator, each.values)
