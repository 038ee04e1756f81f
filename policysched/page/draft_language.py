"""Answers about policies while they are edited: findings, completion, hover, formatting, fixes.

Offsets are counted in UTF-16 code units, as scripts of a browser count them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from policysched import clock as clocks
from policysched.inputs import dump_file
from policysched.lang import source
from policysched.lang.checked import content_hash
from policysched.lang.diagnostics import diagnostics
from policysched.language_server.features import actions, completion, formatting, hover
from policysched.language_server.project import cluster_data, program_maker, programs
from policysched.language_server.words import vocabulary
from policysched.lint import settings
from policysched.page import page_source

Answer: TypeAlias = dict[str, Any]
_MOST_FINDINGS = 200
_NO_CLUSTER = -1
"""Stands for the generation of a cluster that is not known."""
_LARGEST_16_BIT_CHARACTER = "\uffff"


class LanguageQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question about edited policies.

    Attributes:
        texts: all policies, keyed by name; together they form one namespace.
        name: the text that the question is about.
        at: an offset in this text; `complete` and `hover` need it.
    """

    kind: Literal["findings", "complete", "hover", "format", "fixes"]
    texts: dict[str, str]
    name: str
    at: int = 0


class DraftLanguage:
    """Answers questions about texts in memory; only one thread may use it at a time."""

    def __init__(self, clock: clocks.Clock) -> None:
        """Answer without facts about a cluster until the first question brings its view."""
        self._clock = clock
        self._generation: int | None = None
        self._params: Mapping[str, str] = {}
        self._maker: program_maker.ProgramMaker
        self._program: programs.PolicyProgram
        self._answers: Mapping[str, Callable[[LanguageQuestion], Answer]] = {
            "findings": self._list_findings,
            "complete": self._complete,
            "hover": self._hover,
            "format": self._format,
            "fixes": self._fix_all,
        }

    def answer(self, question: LanguageQuestion, view: page_source.ClusterView | None) -> Answer:
        """Return the answer to a question; facts are those of the cluster in `view`, if any.

        Raises:
            LookupError: no text has the name in the question.
        """
        if question.name not in question.texts:
            raise LookupError(question.name)
        self._update_program(make_texts(question.texts), view)
        return self._answers[question.kind](question)

    def _update_program(
        self, texts: tuple[source.SourceText, ...], view: page_source.ClusterView | None
    ) -> None:
        """Check the texts, unless they and the cluster are those of the last question."""
        generation = _NO_CLUSTER if view is None else view.generation
        is_same_cluster = self._generation == generation
        if not is_same_cluster:
            self._maker = program_maker.ProgramMaker(self._clock, _make_cluster_data(view))
            self._params = {} if view is None else view.inputs.params
        if not is_same_cluster or self._program.texts != texts:
            self._program = self._maker.make_program(texts, settings.LintSettings())
        self._generation = generation

    # --- answers ----------------------------------------------------------------------------------

    def _list_findings(self, _: LanguageQuestion) -> Answer:
        """Return the findings of `lint`, each with the edits that an editor offers for it.

        With errors, the policies cannot be linted, so the findings are those of `check`. `hash` is
        that of the texts as a version of the policies; "" if the params are not known.
        """
        found = self._program.lint_result.findings
        knows_cluster = self._generation != _NO_CLUSTER
        texts = self._program.texts
        return {
            "findings": [self._describe_finding(each) for each in found[:_MOST_FINDINGS]],
            "total": len(found),
            "knowsCluster": knows_cluster,
            "hash": content_hash.hash_policy_texts_and_params(texts, self._params)
            if knows_cluster
            else "",
            "isLinted": self._program.check_result.program is not None,
        }

    def _describe_finding(self, finding: diagnostics.Diagnostic) -> Answer:
        span = finding.span
        offered = actions.list_code_actions(self._program, span.file, span.start, span.end)
        return {
            "file": span.file,
            "start": self._count_units(span.file, span.start),
            "end": self._count_units(span.file, span.end),
            "line": span.line,
            "column": span.column,
            "severity": finding.severity.value,
            "code": finding.code,
            "message": finding.message,
            "label": finding.label,
            "help": finding.help,
            "actions": [
                {
                    "title": each.title,
                    "edits": self._describe_edits(each.edits),
                    "isFix": finding.fix is not None and each.edits == finding.fix.edits,
                }
                for each in offered
                if each.finding is finding
            ],
        }

    def _complete(self, question: LanguageQuestion) -> Answer:
        name = question.name
        found = completion.propose_completions(self._program, name, self._find_offset(question))
        typed = question.texts[name][found.start : found.end]
        return {
            "start": self._count_units(name, found.start),
            "end": self._count_units(name, found.end),
            "items": [
                {"text": each.text, "kind": each.kind, "detail": each.detail, "doc": each.doc}
                for each in found.items
                if each.text != typed  # the unfinished word is a word of the policies, too
            ],
        }

    def _hover(self, question: LanguageQuestion) -> Answer:
        name = question.name
        found = hover.build_hover(self._program, name, self._find_offset(question))
        if found is None:
            return {"markdown": ""}
        return {
            "start": self._count_units(name, found.start),
            "end": self._count_units(name, found.end),
            "markdown": found.markdown,
        }

    def _format(self, question: LanguageQuestion) -> Answer:
        text = self._program.check_result.texts[question.name]
        return {"edits": self._describe_edits(formatting.make_formatting_edits(text))}

    def _fix_all(self, question: LanguageQuestion) -> Answer:
        found = actions.make_fix_all_actions(self._program, question.name)
        edits = (edit for each in found for edit in each.edits)
        return {"edits": self._describe_edits(edits)}

    # --- offsets ----------------------------------------------------------------------------------

    def _describe_edits(self, edits: Iterable[diagnostics.TextEdit]) -> list[Answer]:
        return [
            {
                "file": each.span.file,
                "start": self._count_units(each.span.file, each.span.start),
                "end": self._count_units(each.span.file, each.span.end),
                "text": each.replacement,
            }
            for each in edits
        ]

    def _count_units(self, name: str, offset: int) -> int:
        """Return an offset of a text in UTF-16 code units."""
        return count_utf16_units(self._program.check_result.texts[name].text[:offset])

    def _find_offset(self, question: LanguageQuestion) -> int:
        return find_offset(question.texts[question.name], question.at)


def make_texts(texts: Mapping[str, str]) -> tuple[source.SourceText, ...]:
    """Return the texts of a namespace, sorted by name."""
    return tuple(source.SourceText(name, texts[name]) for name in sorted(texts))


def count_utf16_units(text: str) -> int:
    """Return the length of a text in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def find_offset(text: str, units: int) -> int:
    """Return the offset after a number of UTF-16 code units, limited to the text."""
    counted = 0
    for offset, each in enumerate(text):
        if counted >= units:
            return offset
        counted += 2 if each > _LARGEST_16_BIT_CHARACTER else 1
    return len(text)


def _make_cluster_data(
    view: page_source.ClusterView | None,
) -> cluster_data.LoadedClusterData:
    if view is None:
        return cluster_data.LoadedClusterData()
    found = dump_file.ObjectDump(view.inputs.objects, view.inputs.plane)
    return cluster_data.LoadedClusterData(
        view.inputs.where, found, vocabulary.collect_cluster_vocabulary(found)
    )
