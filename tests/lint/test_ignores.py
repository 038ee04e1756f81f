from __future__ import annotations

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter, settings

POLICY = """policy web {{{name}
  description "web"
  owner "team"
  for pods where app = web
{before}  nodeAffinity required pool != spot{behind}
  nodeAffinity required zone != a
}}
"""
DEFAULTS = settings.LintSettings()
REASON = "# policysched: ignore[PS208] unlabelled nodes are fine"


def lint(text: str, chosen: settings.LintSettings = DEFAULTS) -> tuple[list[str], int]:
    """Return code and line of what is found, and how much is silenced."""
    result = checker.check([source.SourceText("x.policy", text)])
    report = linter.lint_program(result, chosen)
    return [f"{each.code}:{each.span.line}" for each in report.findings], report.silenced


@pytest.mark.parametrize(
    "before, behind, left",
    [
        pytest.param("", "", ["PS208:5", "PS208:6"], id="none"),
        pytest.param("", f"  {REASON}", ["PS208:6"], id="behind"),
        pytest.param(f"  {REASON}\n", "", ["PS208:7"], id="before"),
        pytest.param("", "  # policysched: ignore[PS208, PS203] x", None, id="partly-unused"),
        pytest.param("", "  # policysched: ignore[PS208]", ["PS208:6", "PS803:5"], id="no-reason"),
        pytest.param("", "  # ignore[PS208] x", ["PS208:5", "PS208:6"], id="another-comment"),
    ],
)
def test_a_comment_silences_its_statement(before: str, behind: str, left: list[str] | None) -> None:
    """The one on its line or, where it stands alone, the next; no other."""
    found, _ = lint(POLICY.format(name="", before=before, behind=behind))
    assert sorted(found) == (["PS208:6", "PS803:5"] if left is None else left)


def test_what_is_silenced_is_counted() -> None:
    """One finding less, one more that is silenced."""
    _, silenced = lint(POLICY.format(name="", before="", behind=f"  {REASON}"))
    assert silenced == 1


def test_only_rules_that_ran_are_called_unused() -> None:
    """Who leaves a rule out is not told that its comments are useless."""
    text = POLICY.format(name="", before="", behind="  # policysched: ignore[PS203] x")
    assert "PS803:5" in lint(text)[0]
    assert "PS803:5" not in lint(text, settings.LintSettings(ignore=("PS203",)))[0]


def test_a_comment_with_an_unknown_code_is_reported() -> None:
    """A misspelt code silences nothing."""
    text = POLICY.format(name="", before="", behind="  # policysched: ignore[PS999] x")
    assert "PS803:5" in lint(text)[0]


@pytest.mark.parametrize(
    "select, ignore, runs",
    [
        pytest.param((), (), True, id="all"),
        pytest.param(("PS2",), (), True, id="selected"),
        pytest.param(("PS4",), (), False, id="not-selected"),
        pytest.param((), ("PS2",), False, id="ignored"),
        pytest.param(("PS203",), ("PS2",), True, id="longer-selection-wins"),
        pytest.param(("PS2",), ("PS203",), False, id="longer-ignore-wins"),
    ],
)
def test_the_longest_prefix_decides(
    select: tuple[str, ...], ignore: tuple[str, ...], runs: bool
) -> None:
    """Codes are chosen by their beginning."""
    assert settings.LintSettings(select, ignore).is_rule_enabled("PS203") is runs


def test_levels_and_paths_are_settings() -> None:
    """A severity can be raised, and a rule be left out of some files."""
    text = POLICY.format(name="", before="", behind="")
    result = checker.check([source.SourceText("teams/x.policy", text)])
    raised = settings.LintSettings(levels={"PS2": diagnostics.Severity.ERROR})
    severities = {each.severity for each in linter.lint_program(result, raised).findings}
    assert severities == {diagnostics.Severity.ERROR}
    without = settings.LintSettings(per_path={"teams/*": ("PS208",)})
    assert linter.lint_program(result, without).findings == ()
