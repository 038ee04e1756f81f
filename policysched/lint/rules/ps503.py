"""PS503: a label value that no node of the cluster has."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang import checked_selector, diagnostics, spelling
from policysched.lint import rule, selector_sets, subject


def _check(about: subject.Subject) -> Iterator[diagnostics.Diagnostic]:
    cluster = about.cluster
    if cluster is None:
        return
    for occurrence in about.occurrences:
        if occurrence.about != "nodes":
            continue
        for each in selector_sets.requirements(occurrence.selector):
            if not isinstance(each, checked_selector.LabelRequirement) or each.operator != "In":
                continue
            known = cluster.node_labels.get(each.key, frozenset())
            unknown = [value for value in each.values if known and value not in known]
            if unknown:
                yield _finding(cluster.name, each, unknown, known)


def _finding(
    name: str,
    each: checked_selector.LabelRequirement,
    unknown: list[str],
    known: frozenset[str],
) -> diagnostics.Diagnostic:
    shown = ", ".join(f"`{value}`" for value in unknown)
    hints = (spelling.did_you_mean(value, known) for value in unknown)
    return diagnostics.Diagnostic(
        "PS503",
        f"no node of {name} has {shown} as its `{each.key}`",
        each.span,
        help=next((hint for hint in hints if hint), ""),
    )


RULE = rule.Rule("PS503", diagnostics.Severity.WARNING, _check)
