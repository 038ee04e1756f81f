"""Finds edits to the labels, annotations and priority of the pod that rejecting rules read."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
from msgspec import structs

from policysched.cluster.objects import objects
from policysched.explaining import suggested_edit, trials
from policysched.explaining.edits import node_edits
from policysched.explaining.facts import pod_requirements, rejections, rule_values
from policysched.lang.checked import checked_expr, checked_selector

_MOST_KEYS = 10
_MOST_VALUES = 10
_MOST_PRIORITIES = 12
_HIGHEST_PRIORITY = 1_000_000_000
"""The highest value of a user-defined priority class; Kubernetes reserves higher values."""

_Pair = checked_selector.LabelRequirement | checked_selector.AnnotationRequirement


def find_rule_pod_edits(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the single edits to labels, annotations and priority that make the pod fit."""
    by_rule = pod_requirements.find_requirements_by_rule(tried, known)
    read = dict.fromkeys(
        each
        for name, requirements in by_rule.items()
        if known.can_single_edit_suffice(name)
        for each in requirements
    )
    pairs = [each for each in read if isinstance(each, _Pair)]
    changes = [
        *_list_metadata_changes(tried.info.pod, pairs[:_MOST_KEYS]),
        *_list_matching_values(tried, known),
    ]
    for change in dict.fromkeys(changes):
        nodes = (
            ()
            if tried.is_limit_reached
            else tried.find_feasible_nodes(change.apply_to(tried.info.pod))
        )
        if nodes:
            yield change.make_pod_edit(tried.info.pod).add_fitting_nodes(nodes)
    numbers = (each for each in read if isinstance(each, checked_selector.NumberRequirement))
    turns = {each.value for each in numbers if each.resource is None}
    yield from _try_priorities(tried, turns | set(_find_rule_priority_crossings(tried, known)))


# --- labels and annotations ----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class _MetadataChange:
    """A new value of a label or annotation; None removes the label or annotation."""

    noun: Literal["label", "annotation"]
    key: str
    value: str | None

    @property
    def _field(self) -> Literal["labels", "annotations"]:
        return "labels" if self.noun == "label" else "annotations"

    def get_value(self, pod: objects.Pod) -> str | None:
        """Return the current value in a pod; None if the pod has no value."""
        having: dict[str, str] = getattr(pod.metadata, self._field)
        return having.get(self.key)

    def apply_to(self, pod: objects.Pod) -> objects.Pod:
        """Return the pod with the change applied."""
        having: dict[str, str] = getattr(pod.metadata, self._field)
        changed = {key: value for key, value in having.items() if key != self.key}
        if self.value is not None:
            changed[self.key] = self.value
        metadata = structs.replace(pod.metadata, **{self._field: changed})
        return structs.replace(pod, metadata=metadata)

    def make_pod_edit(self, pod: objects.Pod) -> suggested_edit.SuggestedEdit:
        """Return the change as a suggested edit to the pod."""
        before, what = self.get_value(pod), f"metadata.{self._field}[{self.key}]"
        effort = suggested_edit.DROPS_OF_POD if self.value is None else suggested_edit.ADJUSTS_POD
        if self.value is None:
            text = f"drop the {self.noun} {self.key}={before}"
        elif before is None:
            text = f"add the {self.noun} {self.key}={self.value} to the pod"
        else:
            text = f"change the {self.noun} {self.key} of the pod from {before} to {self.value}"
        return suggested_edit.SuggestedEdit(
            "pod", self.noun, what, before, self.value, text, effort
        )


def _list_metadata_changes(pod: objects.Pod, pairs: list[_Pair]) -> Iterator[_MetadataChange]:
    for each in pairs:
        is_label = isinstance(each, checked_selector.LabelRequirement)
        noun: Literal["label", "annotation"] = "label" if is_label else "annotation"
        values = each.values
        if isinstance(each, checked_selector.LabelRequirement):
            values = each.exact_values
        for value in node_edits.list_label_values_to_try(each.operator, values):
            change = _MetadataChange(noun, each.key, value)
            if change.get_value(pod) != value:
                yield change


def _list_matching_values(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[_MetadataChange]:
    """Yield changes to values that rules compare with labels of the nodes that they reject."""
    for rule in known.find_rules_reading(
        checked_expr.NodeLabelIsPodValue, checked_expr.PlacedPodCount
    ):
        nodes = known.find_nodes_rejected_only_by(rule.head.name)
        for each in checked_expr.walk_expressions(rule.condition.source):
            match each:
                case checked_expr.NodeLabelIsPodValue(
                    key=key,
                    value=checked_selector.IncomingPodValue(
                        "label" | "annotation" as noun, pod_key
                    ),
                ):
                    labels = {tried.get_node(node).metadata.labels.get(key) for node in nodes}
                    for value in sorted(filter(None, labels))[:_MOST_VALUES]:
                        yield _MetadataChange(noun, pod_key, value)
                case checked_expr.PlacedPodCount(pods=pods):
                    yield from _list_values_of_counted_pods(tried, pods)
                case _:
                    pass


def _list_values_of_counted_pods(
    tried: trials.PodTrials, pods: checked_selector.PodSelection
) -> Iterator[_MetadataChange]:
    """Yield the values of placed pods for labels that the pod lacks, so that none are counted."""
    for each in pods.compared:
        for wanted in each.pod_values:
            if wanted.kind not in ("label", "annotation"):
                continue
            noun = wanted.kind
            if _MetadataChange(noun, wanted.key, None).get_value(tried.info.pod) is not None:
                continue
            placed = tried.decider.cluster.placed.values()
            values = {info.pod.metadata.labels.get(each.key) for info in placed}
            for value in sorted(filter(None, values))[:_MOST_VALUES]:
                yield _MetadataChange(noun, wanted.key, value)


# --- priority ------------------------------------------------------------------------------------


def _find_rule_priority_crossings(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[float]:
    """Yield the priorities at which comparisons change their result, computed from their slopes."""
    for rule in known.find_rules_reading(checked_expr.PodPriority):
        nodes = known.find_nodes_rejected_only_by(rule.head.name)
        for compare in checked_expr.walk_expressions(rule.condition.source):
            if isinstance(compare, checked_expr.Compare):
                yield from _find_priority_crossings(tried, compare, nodes)


def _find_priority_crossings(
    tried: trials.PodTrials, compare: checked_expr.Compare, nodes: list[str]
) -> Iterator[float]:
    """Yield the priorities at which both sides of a comparison are equal on some node."""
    shapes = [
        tried.decider.cluster.shapes.make_pod_info(_set_priority(tried.info.pod, priority)).shape
        for priority in (0, 1)
    ]
    at_zero, at_one = (
        rule_values.evaluate_expression_on_nodes(tried, compare.left, nodes, shape)
        - rule_values.evaluate_expression_on_nodes(tried, compare.right, nodes, shape)
        for shape in shapes
    )
    with np.errstate(all="ignore"):
        roots = -at_zero / (at_one - at_zero)
    yield from np.unique(roots[np.isfinite(roots)]).tolist()


def _try_priorities(
    tried: trials.PodTrials, turns: set[float]
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the edit to the nearest priority that makes the pod fit."""
    before = tried.info.pod.spec.priority or 0
    wholes = {n for turn in turns for n in (math.floor(turn), math.ceil(turn))}
    priorities = {n + more for n in wholes for more in (-1, 0, 1)} - {before}
    nearest = sorted(priorities, key=lambda priority: (abs(priority - before), priority))
    for after in nearest[:_MOST_PRIORITIES]:
        if tried.is_limit_reached:
            return
        if abs(after) > _HIGHEST_PRIORITY:
            continue
        nodes = tried.find_feasible_nodes(_set_priority(tried.info.pod, after))
        if nodes:
            verb = "raise" if after > before else "lower"
            text = f"{verb} the priority of the pod from {before} to {after} (priorityClassName)"
            said = (str(before), str(after), text, suggested_edit.ADJUSTS_POD)
            yield suggested_edit.SuggestedEdit(
                "pod", "priority", "spec.priority", *said
            ).add_fitting_nodes(nodes)
            return


def _set_priority(pod: objects.Pod, priority: int) -> objects.Pod:
    return structs.replace(pod, spec=structs.replace(pod.spec, priority=priority))
