"""Presents cluster policies as policies about nodes and pods, so that the same lint rules apply.

A clusterPolicy consists of the same selectors, expressions and clauses as a policy. With clusters
in place of nodes and resources in place of pods, most rules apply unchanged. The linter therefore
runs them a second time on a substituted input and rewords their findings for clusters.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from policysched.lang.checked import cluster_profile
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax

if TYPE_CHECKING:
    from policysched.lint import rule_input

CODES = frozenset(
    {
        *("PS204", "PS205", "PS213", "PS214", "PS215", "PS216"),
        *("PS302", "PS306", "PS307", "PS308", "PS310", "PS311", "PS312", "PS313", "PS315"),
        *("PS408", "PS410"),
        *("PS501", "PS502", "PS503", "PS504", "PS508", "PS512", "PS514"),
        "PS805",
    }
)
"""The rules that also run on substituted cluster policies; other rules handle these themselves."""

_CODE = re.compile("(`[^`]*`)")
_TABLE = re.compile(r"\S {2,}\S")
_WORDS = (
    (re.compile(r"(?<![\w./-])node(s?)(?![\w/-]|\.\w)"), r"cluster\1"),
    (re.compile(r"(?<![\w./-])pod(s?)(?![\w/-]|\.\w)"), r"resource\1"),
    (re.compile(r"\bstay Pending\b"), "stay unscheduled"),
)


def substitute_clusters_for_nodes(about: rule_input.LintInput) -> rule_input.LintInput | None:
    """Return the input with clusters as nodes and resources as pods, or None.

    Without cluster policies in the program, the result is None.
    """
    program = about.program
    if not program.cluster_policies:
        return None
    profiles = tuple(
        cluster_profile.replace_pod_by_cluster_policies(profile) for profile in program.profiles
    )
    across = dataclasses.replace(
        program, policies=program.cluster_policies, cluster_policies=(), profiles=profiles
    )
    members = about.cluster.members if about.cluster is not None else None
    return dataclasses.replace(about, program=across, cluster=members)


def is_of_cluster_metric(finding: diagnostics.Diagnostic, about: rule_input.LintInput) -> bool:
    """Return whether a finding is inside the declaration of a cluster metric."""
    names = {each.name for each in about.program.metrics if each.target == "cluster"}
    return any(
        isinstance(item, syntax.Metric)
        and item.name.text in names
        and item.span.file == finding.span.file
        and item.span.start <= finding.span.start < item.span.end
        for parsed in about.parsed
        for item in parsed.file.items
    )


def reword_for_clusters(finding: diagnostics.Diagnostic) -> diagnostics.Diagnostic:
    """Return a finding worded for clusters; text between backticks is unchanged."""
    return dataclasses.replace(
        finding,
        message=_reword_text(finding.message),
        label=_reword_text(finding.label),
        secondary=tuple(
            dataclasses.replace(each, text=_reword_text(each.text)) for each in finding.secondary
        ),
        notes=_reword_notes(finding.notes),
        help=_reword_text(finding.help),
    )


def _reword_notes(notes: tuple[str, ...]) -> tuple[str, ...]:
    """Return reworded notes; table rows are unchanged because they contain the user's names."""
    return tuple(note if _TABLE.search(note) else _reword_text(note) for note in notes)


def _reword_text(text: str) -> str:
    return "".join(_reword_unless_quoted(part) for part in _split_at_backticks(text))


def _split_at_backticks(text: str) -> Iterator[str]:
    yield from _CODE.split(text)


def _reword_unless_quoted(part: str) -> str:
    if part.startswith("`"):
        return part
    for pattern, word in _WORDS:
        part = pattern.sub(word, part)
    return part
