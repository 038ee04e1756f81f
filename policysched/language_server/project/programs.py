"""Texts that are checked together, and what can be said about them; everything on demand."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.parsing import parser, scanner
from policysched.language_server.words import names, vocabulary
from policysched.lint import fixing, linter, rule_input, settings

if TYPE_CHECKING:
    from policysched.lint.facts import cluster_facts  # brings NumPy


@dataclasses.dataclass(frozen=True)
class ProgramEnvironment:
    """What is known besides the texts.

    Attributes:
        cluster: its nodes and pods, None if none was named.
        words: label keys and the like that are worth proposing.
        plugins: names of plugins, None if that is not known.
        now_seconds: since the epoch; rules that have expired by then are warned of.
    """

    cluster: cluster_facts.ClusterFacts | None = None
    words: vocabulary.CompletionVocabulary = dataclasses.field(
        default_factory=vocabulary.CompletionVocabulary
    )
    plugins: Collection[str] | None = None
    now_seconds: float | None = None


@dataclasses.dataclass(frozen=True)
class PolicyProgram:
    """Texts that form one namespace: the files of a folder, the keys of a manifest.

    Attributes:
        chosen: settings of lint.
        known: what is known of the cluster and of Prometheus.
    """

    texts: tuple[source.SourceText, ...]
    chosen: settings.RuleSettings = dataclasses.field(default_factory=settings.RuleSettings)
    known: ProgramEnvironment = dataclasses.field(default_factory=ProgramEnvironment)

    @functools.cached_property
    def check_result(self) -> checker.CheckResult:
        """What `check` says."""
        return checker.check(self.texts, plugins=self.known.plugins, now=self.known.now_seconds)

    @functools.cached_property
    def lint_result(self) -> linter.LintResult:
        """What `lint` says, with what `check` says."""
        return linter.lint_program(self.check_result, self.chosen, self.known.cluster)

    @functools.cached_property
    def name_index(self) -> names.NameIndex:
        """Where names are defined and used."""
        return names.build_name_index(self.check_result.parsed)

    @functools.cached_property
    def lint_input(self) -> rule_input.RuleInput | None:
        """Its selectors; None if it has errors."""
        if self.check_result.program is None:
            return None
        return rule_input.RuleInput(
            self.check_result.program,
            self.check_result.parsed,
            self.check_result.texts,
            self.known.cluster,
        )

    @functools.cached_property
    def parsed(self) -> Mapping[str, parser.ParseResult]:
        """What was read, by the name of the text."""
        return {result.text.name: result for result in self.check_result.parsed}

    @functools.cached_property
    def texts_with_fixes(self) -> Mapping[str, str]:
        """The texts with all safe fixes applied, by name; as they are if there are errors."""
        if self.check_result.program is None:
            return {}
        fixed = fixing.apply_fixes(
            self.texts, {}, self.chosen, also_unsafe=False, cluster=self.known.cluster
        )
        return {text.name: text.text for text in fixed}

    @functools.cached_property
    def completion_words(self) -> vocabulary.CompletionVocabulary:
        """What is worth proposing: of the cluster, and what the policies themselves say."""
        return self.known.words.merge_vocabulary(
            vocabulary.collect_policy_vocabulary(self.check_result.parsed)
        )

    def get_scan(self, name: str) -> scanner.LexemeScan:
        """Return the lexemes of a text."""
        if name not in self._scans_by_name:
            self._scans_by_name[name] = scanner.LexemeScan(self.check_result.texts[name])
        return self._scans_by_name[name]

    @functools.cached_property
    def _scans_by_name(self) -> dict[str, scanner.LexemeScan]:
        return {}
