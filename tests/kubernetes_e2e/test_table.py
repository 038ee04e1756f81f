"""The table, and the exit code that goes with it."""

from __future__ import annotations

import pytest

from tests.kubernetes_e2e import __main__ as command
from tests.kubernetes_e2e import comparison, e2e_sets, runs, table
from tests.kubernetes_e2e.outcomes import make_outcomes

_SET = e2e_sets.E2eSet("scheduling", "sig-scheduling", least_passed=2)
_DEVICES = e2e_sets.E2eSet("devices", "DRA", missing="allocation")
_CONTROL = runs.Run(make_outcomes(a="passed", b="passed", c="failed"), 90.0)
_OURS = runs.Run(make_outcomes(a="passed", b="failed", c="passed"), 120.0)
_BLAMED = comparison.Difference("b", "it was not preempted", comparison.Verdict.POLICYSCHED_FAILS)
_BOTH = comparison.Difference("b", "it was not preempted", comparison.Verdict.BOTH_FAIL)


def _result(*differences: comparison.Difference, **changes: runs.Run) -> table.Result:
    both = {"kube-scheduler": _CONTROL, "policysched": _OURS}
    return table.Result(_SET, both | changes, differences)


def test_the_table_has_every_set_and_every_difference() -> None:
    """Sets that policysched has no feature for are named as missing."""
    assert list(table.format_table([_result(_BLAMED)], [_DEVICES])) == [
        "set              tests  kube-scheduler  policysched       minutes  differences",
        "scheduling           3               2            2     1.5 / 2.0  1",
        "devices                                     missing                allocation",
        "scheduling: fails with policysched: b",
        "    it was not preempted",
        "scheduling: failed with kube-scheduler alone: c",
    ]


def test_a_scheduler_that_did_not_run_has_no_figures() -> None:
    """Nothing is compared then."""
    alone = table.Result(_SET, {"policysched": _OURS})
    assert list(table.format_table([alone], []))[1:] == [
        "scheduling           3               -            2           2.0  0"
    ]
    assert command.choose_exit_code([alone]) == 0


@pytest.mark.parametrize(
    "differences, exit_code", [([], 0), ([_BOTH], 0), ([_BLAMED], 1), ([_BOTH, _BLAMED], 1)]
)
def test_the_exit_code_is_about_policysched(
    differences: list[comparison.Difference], exit_code: int
) -> None:
    """A test that fails now and then with either scheduler is no failure of policysched."""
    assert command.choose_exit_code([_result(), _result(*differences)]) == exit_code


def test_a_broken_cluster_is_no_pass() -> None:
    """kube-scheduler fails as well there, so that nothing could differ."""
    broken = runs.Run(make_outcomes(a="failed", b="passed", c="failed"), 90.0)
    result = _result(**{"kube-scheduler": broken})
    assert command.choose_exit_code([result]) == 2
    assert (
        "scheduling: the cluster is at fault: kube-scheduler passes 2 tests or more"
        in table.format_table([result], [])
    )
