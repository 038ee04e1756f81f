"""Corrects labels, values and namespaces in required podAffinity terms."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

from msgspec import structs

from policysched.cluster.objects import objects
from policysched.explaining import rule_trials, suggested_edit, trials
from policysched.explaining.edits import selector_edits
from policysched.explaining.facts import pod_requirements
from policysched.explaining.facts import vocabulary as vocabularies
from policysched.lang.checked import checked, checked_selector
from policysched.lang.words import glob_patterns

_MOST_NAMESPACES = 3


@dataclasses.dataclass(frozen=True, slots=True)
class _TermCorrection:
    """A proposed replacement for a word in an affinity term."""

    text: str
    before: str | None
    after: str
    effort: int


class _PlacedPodVocabulary:
    """The labels and namespaces of the placed pods, which affinity terms can select."""

    def __init__(self, tried: trials.PodTrials) -> None:
        placed = [info.pod for info in tried.decider.cluster.placed.values()]
        self._labels = [(pod.metadata.namespace, pod.metadata.labels) for pod in placed]
        self.words = vocabularies.LabelVocabulary(placed)
        self.namespaces = sorted({pod.metadata.namespace for pod in placed})

    def propose_label_corrections(
        self, key: str, value: str
    ) -> Iterator[tuple[_TermCorrection, str, str]]:
        """Yield corrections of a misspelt label, each with the resulting key and value."""
        for near in self.words.find_similar_keys(key):
            text = f"label {key}: did you mean {near}? no pod has the label {key}"
            yield _TermCorrection(text, key, near, suggested_edit.CORRECTS), near, value
        for other in self.words.find_other_values(key, value):
            if self.words.is_probable_misspelling(key, value, other):
                text = f"label {key}={value}: did you mean {other}? no pod has {key}={value}"
                yield _TermCorrection(text, value, other, suggested_edit.CORRECTS), key, other

    def propose_namespace_corrections(self, name: str) -> Iterator[_TermCorrection]:
        """Yield similar namespace names; nothing if the namespace has pods."""
        for near in (
            suggested_edit.find_similar_words(name, self.namespaces)
            if name not in self.namespaces
            else ()
        ):
            text = f"namespace {name}: did you mean {near}? {name} has no pods"
            yield _TermCorrection(text, name, near, suggested_edit.CORRECTS)

    def find_other_namespaces(self, labels: Mapping[str, str]) -> Iterator[_TermCorrection]:
        """Yield the namespaces that contain pods with the given labels."""
        having = {name for name, each in self._labels if labels.items() <= each.items()}
        for name in sorted(having)[:_MOST_NAMESPACES]:
            yield _TermCorrection(
                f"look in namespace {name}", None, name, suggested_edit.ADJUSTS_POD
            )


# --- terms of the pod ----------------------------------------------------------------------------


def propose_affinity_term_corrections(
    tried: trials.PodTrials, term: objects.PodAffinityTerm
) -> Iterator[tuple[suggested_edit.SuggestedEdit, objects.PodAffinityTerm]]:
    """Yield corrections of a required affinity term, each with the resulting term."""
    pods = _PlacedPodVocabulary(tried)
    selector = term.label_selector or objects.LabelSelector()
    for key, value in selector.match_labels.items():
        others = {k: v for k, v in selector.match_labels.items() if k != key}
        for said, near_key, near_value in pods.propose_label_corrections(key, value):
            changed = structs.replace(selector, match_labels={**others, near_key: near_value})
            yield _make_pod_affinity_edit(said), structs.replace(term, label_selector=changed)
    for name in term.namespaces:
        for said in pods.propose_namespace_corrections(name):
            several = (*(each for each in term.namespaces if each != name), said.after)
            yield _make_pod_affinity_edit(said), structs.replace(term, namespaces=several)
    for near in selector_edits.build_label_vocabulary(tried).find_similar_keys(term.topology_key):
        text = f"topologyKey {term.topology_key}: did you mean {near}? no node has that label"
        correction = _TermCorrection(text, term.topology_key, near, suggested_edit.CORRECTS)
        yield _make_pod_affinity_edit(correction), structs.replace(term, topology_key=near)
    if not term.namespaces and term.namespace_selector is None:
        for said in pods.find_other_namespaces(selector.match_labels):
            yield _make_pod_affinity_edit(said), structs.replace(term, namespaces=(said.after,))


def _make_pod_affinity_edit(said: _TermCorrection) -> suggested_edit.SuggestedEdit:
    """Return the edit to the pod that applies a correction to its podAffinity."""
    text = f"required podAffinity: {said.text}"
    what = "spec.affinity.podAffinity"
    return suggested_edit.SuggestedEdit(
        "pod", "podAffinity", what, said.before, said.after, text, said.effort
    )


# --- rules ---------------------------------------------------------------------------------------


def find_affinity_rule_corrections(
    tried: trials.PodTrials, rule: checked.PodAffinityRule
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the corrections of a required podAffinity rule that make the pod fit."""
    for said, pods in _propose_pod_selection_corrections(_PlacedPodVocabulary(tried), rule.pods):
        nodes = rule_trials.find_feasible_nodes_with_rule(
            tried, rule, dataclasses.replace(rule, pods=pods)
        )
        if nodes:
            before = said.before or rule.head.text
            words = (
                before,
                said.after,
                said.text,
                said.effort
                if said.effort == suggested_edit.CORRECTS
                else suggested_edit.RELAXES_RULE,
            )
            yield rule_trials.make_rule_edit(rule, "podAffinity", *words).add_fitting_nodes(nodes)


def _propose_pod_selection_corrections(
    known: _PlacedPodVocabulary, pods: checked_selector.PodSelection
) -> Iterator[tuple[_TermCorrection, checked_selector.PodSelection]]:
    """Yield corrections of a rule's labels and namespaces, each with the resulting selection."""
    labels: dict[str, str] = {}
    whole = checked_selector.EVERYTHING if pods.selector is None else pods.selector
    for each in checked_selector.walk_requirements(whole):
        if not isinstance(each, checked_selector.LabelRequirement) or each.operator != "In":
            continue
        labels.update((each.key, value) for value in each.exact_values[:1])
        for value in each.exact_values:
            for said, key, other in known.propose_label_corrections(each.key, value):
                values = tuple(sorted({*each.values, other}))
                new = dataclasses.replace(each, key=key, values=values)
                selector = pod_requirements.replace_selector_requirement(whole, each, new)
                yield said, dataclasses.replace(pods, selector=selector)
    if pods.namespaces is None:
        for said in known.find_other_namespaces(labels):
            yield said, dataclasses.replace(pods, namespaces=_make_namespace_set(said.after))
        return
    for name in itertools.filterfalse(glob_patterns.is_pattern, pods.namespaces.names):
        for said in known.propose_namespace_corrections(name):
            names = tuple(sorted({*pods.namespaces.names, said.after} - {name}))
            several = dataclasses.replace(pods.namespaces, names=names)
            yield said, dataclasses.replace(pods, namespaces=several)


def _make_namespace_set(name: str) -> checked_selector.NamespaceSet:
    return checked_selector.NamespaceSet((name,), None)
