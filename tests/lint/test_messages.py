"""What findings say beside their message."""

from __future__ import annotations

import pytest

from policysched.lint import linter, settings
from tests.lint import cases


@pytest.mark.parametrize(
    "metric, condition, values",
    [
        ("ratio = `x`", "it > 100%", "from 0% to 100%"),
        ("ratio = `x` between 10% and 60%", "it > 80%", "from 10% to 60%"),
        ("number = `x` between 0 and 120", "it > 200", "from 0 to 120"),
    ],
)
def test_ps302_tells_values_in_the_unit_of_the_metric(
    metric: str, condition: str, values: str
) -> None:
    """A share is told in percent, as it is written in policies."""
    text = (
        f"metric it: {metric} node instance missing allow\n"
        f"policy web {{\n  for pods where app = web\n  reject when {condition} as hot\n}}\n"
    )
    chosen = settings.LintSettings(select=("PS302",))
    (finding,) = linter.lint_program(cases.checked(text), chosen).findings
    assert finding.help == f"its values are {values}; choose a threshold in this range"


@pytest.mark.parametrize(
    "tolerated, suggested",
    [
        ("dedicated=wep:NoSchedule", "nodes have `dedicated=web:NoSchedule`"),
        ("dedicatet=web:NoSchedule", "did you mean `dedicated`?"),
        ("maintenance", "remove the pattern, unless nodes sometimes have the taint"),
    ],
)
def test_ps508_suggests_what_is_misspelt(tolerated: str, suggested: str) -> None:
    """If the key is right, that is the value or the effect."""
    text = f"policy web {{\n  for pods where app = web\n  tolerate {tolerated}\n}}\n"
    (finding,) = cases.lint("PS508", text, settings.LintSettings(select=("PS508",)))
    assert finding.help == suggested


@pytest.mark.parametrize(
    "condition, note",
    [
        ("requested(cpu) > -300m", "the left side is 0 or more, the right side -0.3"),
        ("requested(memory) > -2Gi", "the left side is 0 or more, the right side -2Gi"),
        ("2 * busy > 3", "the left side is from 0 to 2, the right side 3"),
    ],
)
def test_ps310_has_amounts_as_policies_have_them(condition: str, note: str) -> None:
    """Nobody writes memory in bytes."""
    text = (
        "metric busy: ratio = `x` node instance missing allow\n"
        "policy web {\n  for pods where app = web\n"
        f"  reject when node(pool = a) and {condition}\n}}\n"
    )
    chosen = settings.LintSettings(select=("PS310",))
    (finding,) = linter.lint_program(cases.checked(text), chosen).findings
    assert note in finding.notes
