"""The interface of a lint rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule_input


@dataclasses.dataclass(frozen=True, slots=True)
class LintRule:
    """A lint rule: its code, default severity and check.

    Attributes:
        code: a key of `diagnostics.LINT_CODES`.
        severity: the severity of its findings, unless the settings override it.
        check: yields the findings; the linter sets their severity.
    """

    code: str
    severity: diagnostics.Severity
    check: Callable[[rule_input.LintInput], Iterator[diagnostics.Diagnostic]]

    @property
    def title(self) -> str:
        """The one-line title of the rule's code."""
        return diagnostics.LINT_CODES[self.code]
