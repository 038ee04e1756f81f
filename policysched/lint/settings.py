"""Lint settings: the rules that run, the severity of their findings, and exclusions."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Mapping, Sequence

from policysched.lang.diagnostics import diagnostics
from policysched.lint import thresholds

ORDER = (
    diagnostics.Severity.INFO,
    diagnostics.Severity.WARNING,
    diagnostics.Severity.ERROR,
)
"""The severities in increasing order, for comparisons."""


@dataclasses.dataclass(frozen=True, slots=True)
class LintSettings:
    """The lint settings of a user; a prefix such as `PS2` selects the codes PS201 to PS299.

    Attributes:
        select: prefixes of the rules that run; empty for all.
        ignore: prefixes of the rules that do not run; overrides `select` unless the matching prefix
            in `select` is longer.
        per_path: path pattern -> the prefixes of codes that are not reported in matching files.
        levels: prefix -> the severity, which overrides the severity of the rule.
        thresholds: the numeric limits of rules.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_path: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    levels: Mapping[str, diagnostics.Severity] = dataclasses.field(default_factory=dict)
    thresholds: thresholds.Thresholds = thresholds.DEFAULT

    def is_rule_enabled(self, code: str) -> bool:
        """Return whether a rule runs; the longest matching prefix decides."""
        selected = _find_longest_prefix_length(code, self.select) if self.select else 0
        ignored = _find_longest_prefix_length(code, self.ignore)
        return selected is not None and (ignored is None or selected > ignored)

    def is_excluded_from_file(self, code: str, path: str) -> bool:
        """Return whether findings of a rule are excluded from a file."""
        return any(
            _find_longest_prefix_length(code, prefixes) is not None
            for pattern, prefixes in self.per_path.items()
            if fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, f"*/{pattern}")
        )

    def get_severity(self, code: str, own: diagnostics.Severity) -> diagnostics.Severity:
        """Return the severity for the findings of a rule; the longest matching prefix decides."""
        longest = max((p for p in self.levels if code.startswith(p)), key=len, default=None)
        return own if longest is None else self.levels[longest]


def is_severity_at_least(severity: diagnostics.Severity, level: diagnostics.Severity) -> bool:
    """Return whether a severity is at or above a level."""
    return ORDER.index(severity) >= ORDER.index(level)


def _find_longest_prefix_length(code: str, prefixes: Sequence[str]) -> int | None:
    return max((len(each) for each in prefixes if code.startswith(each)), default=None)
