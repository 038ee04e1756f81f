"""The help of errors whose nearest valid text would mean something else."""

from __future__ import annotations

import pytest

from policysched import amounts
from policysched.lang import source
from policysched.lang.checking import checker


@pytest.mark.parametrize(
    "statement, advice",
    [
        (
            "nodeAffinity required waiting > 10m",
            "selectors read no times: compare `waiting` in `reject",
        ),
        (
            "nodeAffinity required nodeAge > 5m",
            "selectors read no times: compare `nodeAge` in `reject",
        ),
        ("tolerate dedicated=pod(team)", "write a rule for each value of the taint"),
        ("tolerate a, dedicated=pod(team)", "write a rule for each value of the taint"),
        ("reject when node(tainted(a=pod(b)))", "write a rule for each value of the taint"),
        ("reject when node(tainted($m))", "write the name in a rule for each value of the param"),
        ("reject when node(condition($m) = True)", "write the name in a rule for each value"),
        ("nodeAffinity required condition() = True", "write it, as in `condition(Ready)`"),
        ("disable other.day.otherwise", "write `disable other.day`, which disables both"),
        ('nodeAffinity preferred a = b during "08:00-09:00" otherwise 0', "remove `otherwise`"),
        ("nodeAffinity required nodeInfo(kubeletVersion) Gt 1", "write two or three numbers"),
        ("nodeAffinity required nodeInfo(kubeletVersion) >= 1.30.99999999999", "write two or"),
        ("nodeAffinity required nodeInfo(kubeletVersion) >= v1.30-rc.1", "write `v1.30`"),
        ('reject when free(cpu) < 1 during "mon 08:00-10:00"', 'write `"Mon 08:00-10:00"`'),
        (
            'reject when free(cpu) < 1 during "Monday-fri 08:00-10:00 America/Monterrey"',
            'write `"Mon-Fri 08:00-10:00 America/Monterrey"`',
        ),
        ('reject when free(cpu) < 1 during "mon 8:00-10:00"', "write a text like"),
        ("reject when count(self) > 3 until count(self) < 2", "remove `until`, or compare a"),
        ("reject when free(cpu) < 1 over 5m avg", "remove `over`"),
    ],
)
def test_an_error_has_one_help(statement: str, advice: str) -> None:
    """It says what to write, or that there is no such form."""
    text = f"""
    param m: string = "x"
    policy other {{
      for pods
      score free(cpu) prefer high weight 3 during "08:00-10:00" otherwise 2 as day
    }}
    policy p {{
      for pods
      {statement}
    }}
    """
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert finding.help.startswith(advice)


@pytest.mark.parametrize(
    "scope, help_text",
    [
        (
            "in namespace (a, b) namespaceSelector x = y",
            "write `namespaceSelector kubernetes.io/metadata.name In (a, b) and`",
        ),
        (
            "where waiting > 10m",
            "selectors read no times: compare `waiting` in `reject when` or `score`",
        ),
    ],
)
def test_an_error_of_a_scope_has_one_help(scope: str, help_text: str) -> None:
    """The two ways to select namespaces exclude each other; pods are selected by what they are."""
    text = f"policy p {{ for pods {scope}\n reject when free(cpu) < 1 }}"
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert finding.help == help_text


def test_only_suffixes_of_versions_are_explained() -> None:
    """A pattern is not a suffix."""
    for version, count in (("1.30-gke.1", 1), ('"1.30*"', 0)):
        text = f"policy p {{ for pods nodeAffinity required nodeInfo(kubeletVersion) = {version} }}"
        (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
        assert len(finding.notes) == count


@pytest.mark.parametrize(
    "seconds, text",
    [(0, "0s"), (0.001, "0.001s"), (90.5, "1m30.5s"), (60.5, "1m0.5s"), (5400, "1h30m")],
)
def test_durations_have_all_their_digits(seconds: float, text: str) -> None:
    """`waiting 0s < 0s` would be no reason."""
    assert amounts.format_duration(seconds) == text
