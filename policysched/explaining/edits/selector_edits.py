"""Proposes edits to the node selection of a pod: nodeSelector and required node affinity."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import structs

from policysched.cluster.objects import objects
from policysched.explaining import suggested_edit, trials
from policysched.explaining.facts import vocabulary as vocabularies

_INT = re.compile(r"-?[0-9]{1,18}")
_MOST_BOUNDS = 3
_NODE_AFFINITY = "spec.affinity.nodeAffinity"


def build_label_vocabulary(tried: trials.PodTrials) -> vocabularies.LabelVocabulary:
    """Return the label vocabulary of all nodes in the cluster."""
    nodes = tried.decider.cluster.cache.nodes.nodes
    return vocabularies.LabelVocabulary(node for node in nodes if node is not None)


def list_node_names(tried: trials.PodTrials) -> frozenset[str]:
    """Return the names of all nodes in the cluster."""
    nodes = tried.decider.cluster.cache.nodes.nodes
    return frozenset(node.name for node in nodes if node is not None)


def list_node_selector_edits(
    selector: dict[str, str], words: vocabularies.LabelVocabulary
) -> Iterator[tuple[suggested_edit.SuggestedEdit, dict[str, str]]]:
    """Yield edits to single nodeSelector labels, each with the resulting selector."""
    for key, value in selector.items():
        others = {k: v for k, v in selector.items() if k != key}
        what = f"spec.nodeSelector[{key}]"
        for near in words.find_similar_keys(key):
            text = f"nodeSelector {key}: did you mean {near}? no node has the label {key}"
            said = suggested_edit.SuggestedEdit(
                "pod", "nodeSelector", what, key, near, text, suggested_edit.CORRECTS
            )
            yield said, {**others, near: value}
        for other in words.find_other_values(key, value):
            yield _make_value_edit(words, key, value, other), {**others, key: other}
        text = f"drop {key}={value} from the nodeSelector"
        said = suggested_edit.SuggestedEdit(
            "pod", "nodeSelector", what, value, None, text, suggested_edit.DROPS_OF_POD
        )
        yield said, others


def _make_value_edit(
    words: vocabularies.LabelVocabulary, key: str, value: str, other: str
) -> suggested_edit.SuggestedEdit:
    """Return the edit that replaces the value of a nodeSelector label."""
    what = f"spec.nodeSelector[{key}]"
    if words.is_probable_misspelling(key, value, other):
        text = f"nodeSelector {key}={value}: did you mean {other}? no node has {key}={value}"
        return suggested_edit.SuggestedEdit(
            "pod", "nodeSelector", what, value, other, text, suggested_edit.CORRECTS
        )
    text = f"nodeSelector {key} from {value} to {other}"
    return suggested_edit.SuggestedEdit(
        "pod", "nodeSelector", what, value, other, text, suggested_edit.ADJUSTS_POD
    )


def list_required_affinity_edits(
    required: objects.NodeSelector, words: vocabularies.LabelVocabulary, known: Collection[str]
) -> Iterator[tuple[suggested_edit.SuggestedEdit, objects.NodeSelector | None]]:
    """Yield edits to single requirements, each with the resulting affinity; None removes it.

    `known` contains the names of the nodes in the cluster.
    """
    for at, term in enumerate(required.node_selector_terms):
        for said, expressions in _propose_expression_edits(term.match_expressions, words):
            yield said, _replace_affinity_term(required, at, match_expressions=expressions)
        for said, fields in _propose_node_name_corrections(term.match_fields, known):
            yield said, _replace_affinity_term(required, at, match_fields=fields)
        for field, left in _iterate_expression_removals(term.match_fields):
            yield _make_drop_edit(field), _replace_affinity_term(required, at, match_fields=left)


def _propose_expression_edits(
    expressions: Sequence[objects.SelectorRequirement], words: vocabularies.LabelVocabulary
) -> Iterator[tuple[suggested_edit.SuggestedEdit, tuple[objects.SelectorRequirement, ...]]]:
    """Yield corrections and removals of single match expressions, each with the resulting tuple."""
    for at, each in enumerate(expressions):
        if each.operator in ("In", "Exists", "Gt", "Lt"):
            for said, other in _propose_expression_corrections(each, words):
                yield said, (*expressions[:at], other, *expressions[at + 1 :])
    for each, left in _iterate_expression_removals(expressions):
        yield _make_drop_edit(each), left


def _propose_expression_corrections(
    each: objects.SelectorRequirement, words: vocabularies.LabelVocabulary
) -> Iterator[tuple[suggested_edit.SuggestedEdit, objects.SelectorRequirement]]:
    """Yield corrections of one match expression: its key, its bound or an additional value."""
    written = format_label_expression(each)
    for near in words.find_similar_keys(each.key):
        text = f"node affinity {written}: did you mean {near}? no node has the label {each.key}"
        said = suggested_edit.SuggestedEdit(
            "pod", "nodeAffinity", _NODE_AFFINITY, each.key, near, text, suggested_edit.CORRECTS
        )
        yield said, structs.replace(each, key=near)
    if each.operator in ("Gt", "Lt"):
        yield from _propose_looser_bounds(each, words)
    if each.operator != "In":
        return
    offered = dict.fromkeys(
        o for value in each.values for o in words.find_other_values(each.key, value)
    )
    for other in (o for o in offered if o not in each.values):
        is_similar = any(
            words.is_probable_misspelling(each.key, value, other) for value in each.values
        )
        hint = "did you mean" if is_similar else "add the value"
        after = structs.replace(each, values=(*each.values, other))
        text = f"node affinity {written}: {hint} {other}" + ("?" if is_similar else "")
        effort = suggested_edit.CORRECTS if is_similar else suggested_edit.ADJUSTS_POD
        said = suggested_edit.SuggestedEdit(
            "pod",
            "nodeAffinity",
            _NODE_AFFINITY,
            written,
            format_label_expression(after),
            text,
            effort,
        )
        yield said, after


def _propose_looser_bounds(
    each: objects.SelectorRequirement, words: vocabularies.LabelVocabulary
) -> Iterator[tuple[suggested_edit.SuggestedEdit, objects.SelectorRequirement]]:
    """Yield looser bounds that the value of some node just satisfies, the nearest first."""
    if not each.values or not _INT.fullmatch(each.values[0]):
        return
    step = -1 if each.operator == "Gt" else 1
    numbers = (
        int(value) for value in words.list_values_by_frequency(each.key) if _INT.fullmatch(value)
    )
    bounds = {number + step for number in numbers}
    before = int(each.values[0])
    looser = [bound for bound in bounds if (bound - before) * step > 0]
    for bound in sorted(looser, key=lambda bound: abs(bound - before))[:_MOST_BOUNDS]:
        after = structs.replace(each, values=(str(bound),))
        was, now = format_label_expression(each), format_label_expression(after)
        text = f"node affinity {was}: compare with {bound}"
        yield (
            suggested_edit.SuggestedEdit(
                "pod", "nodeAffinity", _NODE_AFFINITY, was, now, text, suggested_edit.ADJUSTS_POD
            ),
            after,
        )


def _propose_node_name_corrections(
    fields: Sequence[objects.SelectorRequirement], known: Collection[str]
) -> Iterator[tuple[suggested_edit.SuggestedEdit, tuple[objects.SelectorRequirement, ...]]]:
    """Yield corrections of misspelt node names in match fields, each with the resulting tuple."""
    for at, each in enumerate(fields):
        unknown = [v for v in each.values if v not in known] if each.operator == "In" else []
        for before, near in (
            (v, near) for v in unknown for near in suggested_edit.find_similar_words(v, known)
        ):
            values = tuple(near if v == before else v for v in each.values)
            other = structs.replace(each, values=values)
            was, now = format_label_expression(each), format_label_expression(other)
            text = f"node affinity {was}: did you mean {near}? no node is called {before}"
            said = suggested_edit.SuggestedEdit(
                "pod", "nodeAffinity", _NODE_AFFINITY, was, now, text, suggested_edit.CORRECTS
            )
            yield said, (*fields[:at], other, *fields[at + 1 :])


def find_nearest_bounds(
    operator: str, before: int, words: vocabularies.LabelVocabulary, key: str
) -> list[int]:
    """Return the bounds nearest to `before` that the value of a node just satisfies or violates."""
    numbers = [int(value) for value in words.list_values_by_frequency(key) if _INT.fullmatch(value)]
    within = -1 if operator == "Gt" else 1
    bounds = {number + more for number in numbers for more in (0, within)} - {before}
    return sorted(bounds, key=lambda bound: (abs(bound - before), bound))[:_MOST_BOUNDS]


def _iterate_expression_removals(
    expressions: Sequence[objects.SelectorRequirement],
) -> Iterator[tuple[objects.SelectorRequirement, tuple[objects.SelectorRequirement, ...]]]:
    for at, each in enumerate(expressions):
        yield each, (*expressions[:at], *expressions[at + 1 :])


def _make_drop_edit(each: objects.SelectorRequirement) -> suggested_edit.SuggestedEdit:
    written = format_label_expression(each)
    text = f"drop {written} from the required node affinity"
    return suggested_edit.SuggestedEdit(
        "pod", "nodeAffinity", _NODE_AFFINITY, written, None, text, suggested_edit.DROPS_OF_POD
    )


def format_label_expression(each: objects.SelectorRequirement) -> str:
    """Format a requirement like `KEY OPERATOR (VALUE, VALUE)`."""
    return f"{each.key} {each.operator}" + (f" ({', '.join(each.values)})" if each.values else "")


def _replace_affinity_term(
    required: objects.NodeSelector, at: int, **changes: object
) -> objects.NodeSelector | None:
    """Return the affinity with a changed term; None if the term becomes empty.

    An empty term would match no node.
    """
    terms = required.node_selector_terms
    term = structs.replace(terms[at], **changes)
    if not term.match_expressions and not term.match_fields:
        return None
    return objects.NodeSelector(node_selector_terms=(*terms[:at], term, *terms[at + 1 :]))
