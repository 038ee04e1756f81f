"""PS503: a label value that no node of the cluster has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from policysched import spelling
from policysched.cluster.objects import fields_as_labels
from policysched.lang import source
from policysched.lang.checked import checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lang.words import glob_patterns
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each `In` requirement with values that no node has."""
    cluster = about.cluster
    if cluster is None:
        return
    for occurrence in about.selector_uses:
        if occurrence.about != "nodes":
            continue
        for each in checked_selector.walk_requirements(occurrence.selector):
            if not isinstance(each, _Named) or each.operator != "In":
                continue
            known = _get_known_values(each, cluster)
            unknown = [value for value in each.values if known and not _is_known(value, known)]
            if unknown:
                text = about.texts[each.span.file]
                yield _make_finding(cluster.name, text, each, unknown, known)


def _is_known(value: str, known: frozenset[str]) -> bool:
    """Return whether a node has a value, or one that matches a pattern."""
    if not glob_patterns.is_pattern(value):
        return value in known
    return any(glob_patterns.matches_pattern(value, each) for each in known)


def _get_known_values(each: _Requirement, cluster: cluster_facts.ClusterFacts) -> frozenset[str]:
    """Return the values of a label or field on the nodes; empty if no node has it."""
    if isinstance(each, checked_selector.LabelRequirement):
        return cluster.node_labels.get(each.key, frozenset())
    if each.field in _NAMES:
        return frozenset(node.name for node in cluster.nodes)
    several = fields_as_labels.list_field_values(each.field, cluster.node_labels)
    return (
        cluster.node_labels.get(fields_as_labels.make_field_label_key(each.field), several)
        | several
    ) - {""}


_Requirement: TypeAlias = checked_selector.LabelRequirement | checked_selector.FieldRequirement
_Named = (checked_selector.LabelRequirement, checked_selector.FieldRequirement)
_NAMES = ("nodeName", "clusterName")
_WORD = re.compile(r"[A-Za-z][\w.-]*")
"""Values that need no quotes."""


def _make_finding(
    name: str,
    text: source.SourceText,
    each: _Requirement,
    unknown: list[str],
    known: frozenset[str],
) -> diagnostics.Diagnostic:
    """Return the finding for the unknown values in a requirement."""
    key = each.key if isinstance(each, checked_selector.LabelRequirement) else each.field
    shown = ", ".join(f"`{value}`" for value in unknown)
    hints = (spelling.suggest_names(value, known) for value in unknown)
    return diagnostics.Diagnostic(
        "PS503",
        f"no node of {name} has {shown} as its `{key}`",
        each.span,
        help=next((hint for hint in hints if hint), ""),
        fix=_make_fix(text, each, unknown, known),
    )


def _make_fix(
    text: source.SourceText, each: _Requirement, unknown: list[str], known: frozenset[str]
) -> diagnostics.Fix | None:
    """Return the fix for the values of which each is the misspelling of exactly one other value."""
    edits = []
    for value in unknown:
        meant = _find_meant_value(value, known)
        if meant is not None and meant not in each.values and _WORD.fullmatch(meant):
            edits += _make_edits(text, each.span, value, meant)
    return diagnostics.Fix(tuple(edits), safe=False) if edits else None


def _find_meant_value(value: str, known: frozenset[str]) -> str | None:
    """Return the only value that a misspelt value can mean."""
    nearest = spelling.find_nearest_names(value, known)
    if not nearest:
        return None
    is_certain = len(nearest) == 1 or spelling.is_unambiguous_misspelling(value, nearest[0], known)
    return nearest[0] if is_certain else None


def _make_edits(
    text: source.SourceText, span: source.Span, value: str, meant: str
) -> list[diagnostics.TextEdit]:
    """Return the edit of a value, or none if it is not a word that occurs once."""
    places = list(
        re.finditer(rf"(?<![\w./-]){re.escape(value)}(?![\w./-])", text.text[span.start : span.end])
    )
    if len(places) != 1:
        return []
    start = span.start + places[0].start()
    return [diagnostics.TextEdit(text.span(start, start + len(value)), meant)]


RULE = rule.LintRule("PS503", diagnostics.Severity.WARNING, _find_violations)
