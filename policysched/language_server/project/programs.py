"""Programs: texts that are checked together, with results computed on demand."""

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
    from policysched.lint.facts import cluster_facts  # imports NumPy


@dataclasses.dataclass(frozen=True)
class ProgramEnvironment:
    """Facts that a program uses in addition to its texts.

    Attributes:
        cluster: the nodes and pods; None if no cluster is configured.
        words: the words that completion proposes, such as label keys.
        plugins: the names of plugins; None if they are not known.
        now_seconds: the current Unix time in seconds, for warnings about expired rules.
    """

    cluster: cluster_facts.ClusterFacts | None = None
    words: vocabulary.CompletionVocabulary = dataclasses.field(
        default_factory=vocabulary.CompletionVocabulary
    )
    plugins: Collection[str] | None = None
    now_seconds: float | None = None


@dataclasses.dataclass(frozen=True)
class PolicyProgram:
    """Texts that form one namespace: the files of a folder, or the keys of a manifest.

    Attributes:
        chosen: the lint settings.
        known: the facts about the cluster and Prometheus.
    """

    texts: tuple[source.SourceText, ...]
    chosen: settings.LintSettings = dataclasses.field(default_factory=settings.LintSettings)
    known: ProgramEnvironment = dataclasses.field(default_factory=ProgramEnvironment)

    @functools.cached_property
    def check_result(self) -> checker.CheckResult:
        """The result of `check`."""
        return checker.check(self.texts, plugins=self.known.plugins, now=self.known.now_seconds)

    @functools.cached_property
    def lint_result(self) -> linter.LintResult:
        """The result of `lint`, which includes the findings of `check`."""
        return linter.lint_program(self.check_result, self.chosen, self.known.cluster)

    @functools.cached_property
    def name_index(self) -> names.NameIndex:
        """The index of definitions and uses of names."""
        return names.build_name_index(self.check_result.parsed)

    @functools.cached_property
    def lint_input(self) -> rule_input.LintInput | None:
        """The input of lint rules; None if the program has errors."""
        if self.check_result.program is None:
            return None
        return rule_input.LintInput(
            self.check_result.program,
            self.check_result.parsed,
            self.check_result.texts,
            self.known.cluster,
        )

    @functools.cached_property
    def parsed(self) -> Mapping[str, parser.ParseResult]:
        """The parse results, keyed by text name."""
        return {result.text.name: result for result in self.check_result.parsed}

    @functools.cached_property
    def texts_with_fixes(self) -> Mapping[str, str]:
        """The texts with all safe fixes applied, keyed by name; empty if the program has errors."""
        if self.check_result.program is None:
            return {}
        fixed = fixing.apply_fixes(
            self.texts, {}, self.chosen, also_unsafe=False, cluster=self.known.cluster
        )
        return {text.name: text.text for text in fixed}

    @functools.cached_property
    def completion_words(self) -> vocabulary.CompletionVocabulary:
        """The words that completion proposes: from the cluster and from the policies themselves."""
        return self.known.words.merge_vocabulary(
            vocabulary.collect_policy_vocabulary(self.check_result.parsed)
        )

    def get_lexeme_scan(self, name: str) -> scanner.LexemeScan:
        """Return the lexemes of a text, scanned once."""
        if name not in self._lexeme_scans_by_text_name:
            self._lexeme_scans_by_text_name[name] = scanner.LexemeScan(
                self.check_result.texts[name]
            )
        return self._lexeme_scans_by_text_name[name]

    @functools.cached_property
    def _lexeme_scans_by_text_name(self) -> dict[str, scanner.LexemeScan]:
        return {}
