"""Errors of lint keep a version from being used, or are warned of; the rest stays as it was."""

from __future__ import annotations

from typing import NoReturn

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics, rendering
from policysched.lint import linter, registry
from policysched.profiles import lint_gate

NEVER = "nodeAffinity required disk In (ssd) and disk DoesNotExist"
DRIFTING = "nodeAffinity required disk != hdd"
"""Lint only warns of it (PS208)."""


def checked(*rules: str) -> checker.CheckResult:
    """Return what `check` says of a policy."""
    lines = "\n  ".join(("for pods where app = web", *rules))
    return checker.check([source.SourceText("web.policy", f"policy web {{\n  {lines}\n}}\n")])


def test_an_error_of_lint_takes_the_program_away() -> None:
    """It is shown like any other, with the way past it."""
    found = lint_gate.refuse_lint_errors(checked("# above", NEVER))
    assert found.program is None
    (fault,) = found.diagnostics
    assert (fault.code, fault.severity, fault.span.line) == (
        "PS201",
        diagnostics.Severity.ERROR,
        4,
    )
    shown = rendering.render_diagnostic(fault, found.texts)
    assert "error[PS201]" in shown
    assert "`# policysched: ignore[PS201] WHY`" in shown


def test_it_may_be_only_warned_of() -> None:
    """The program stays."""
    found = lint_gate.downgrade_lint_errors(checked(NEVER))
    assert found.program is not None
    assert [(each.code, each.severity.value) for each in found.diagnostics] == [
        ("PS201", "warning")
    ]


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(("nodeAffinity required disk In (ssd)",), id="sound"),
        pytest.param((DRIFTING,), id="only a warning of lint"),
        pytest.param(
            ("# policysched: ignore[PS201] on purpose", NEVER),
            id="silenced",
        ),
        pytest.param(("nodeAffinity required disk Inn (ssd)",), id="not even checked"),
    ],
)
def test_what_is_left_as_it_is(rules: tuple[str, ...]) -> None:
    """Whatever lint calls no error, and what the checker has refused before."""
    result = checked(*rules)
    assert lint_gate.refuse_lint_errors(result) == result
    assert lint_gate.downgrade_lint_errors(result) == result


def test_only_rules_that_need_nothing_but_the_texts() -> None:
    """A version must not be bad by what the cluster has at the moment."""
    chosen = lint_gate._make_error_only_settings()
    offline = {each.code: each.severity for each in registry.list_offline_rules()}
    assert chosen.select
    assert {offline[code] for code in chosen.select} == {diagnostics.Severity.ERROR}


def test_a_fault_of_a_rule_lets_the_version_pass(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has it; a sound version must not wait for a new release."""

    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr(linter, "lint_program", fail)
    result = checked(NEVER)
    assert lint_gate.refuse_lint_errors(result) == result
    assert "could not be linted" in caplog.text


@pytest.mark.parametrize(
    "count, is_compared", [(60, True), (70, False)], ids=["written by hand", "generated"]
)
def test_rules_without_end_are_not_compared_pair_by_pair(count: int, is_compared: bool) -> None:
    """What takes minutes for thousands of generated rules would hold up reloads."""
    sides = ("podAffinity", "podAntiAffinity")
    rules = [
        f"{side} required pods where app = a{number} topologyKey zone"
        for side in sides
        for number in range(count)
    ]
    found = lint_gate.downgrade_lint_errors(checked(*rules))
    assert found.program is not None
    assert any(each.code == "PS212" for each in found.diagnostics) is is_compared
