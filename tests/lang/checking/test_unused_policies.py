"""PS806: the checker warns of policies that no profile uses."""

from __future__ import annotations

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics

POLICIES = """policy web { for pods where app = web  nodeAffinity required pool = web }
policy gpu { for pods where app = gpu  nodeAffinity required gpu Exists }
clusterPolicy west { for resources where app = web  clusterAffinity required region = west }
"""


def _check(*texts: str) -> checker.CheckResult:
    named = enumerate(texts)
    return checker.check([source.SourceText(f"{n}.policy", text) for n, text in named])


@pytest.mark.parametrize(
    "profiles, unused",
    [
        pytest.param("", [], id="the-implied-profile-uses-all"),
        pytest.param("profile a { policies web, gpu, west }", [], id="all-listed"),
        pytest.param(
            "profile a { policies web }\nprofile b { policies gpu  policies west }",
            [],
            id="listed-in-several-profiles",
        ),
        pytest.param(
            "profile a { policies web }",
            ["policy `gpu`", "clusterPolicy `west`"],
            id="both-kinds-of-policies",
        ),
        pytest.param(
            "profile a { }",
            ["policy `web`", "policy `gpu`", "clusterPolicy `west`"],
            id="a-profile-without-policies",
        ),
    ],
)
def test_unused_policies(profiles: str, unused: list[str]) -> None:
    """Each is a warning at the policy's name, and the program remains valid."""
    result = _check(POLICIES, profiles)
    assert result.program is not None
    expected = [f"no profile uses the {each}: it has no effect" for each in unused]
    assert [each.message for each in result.diagnostics] == expected
    assert {(each.code, each.severity) for each in result.diagnostics} <= {
        ("PS806", diagnostics.Severity.WARNING)
    }
    for each in result.diagnostics:
        assert f"`{result.texts['0.policy'].slice(each.span)}`" in each.message


def test_a_shadow_policy_in_a_profile_is_used() -> None:
    """Its decisions are compared, so it has an effect."""
    shadow = "policy web { mode shadow  for pods  nodeAffinity required a = b }"
    assert _check(shadow, "profile a { policies web }").diagnostics == ()


def test_errors_come_first() -> None:
    """A profile that misspells a policy gets one error, and no warning that follows from it."""
    result = _check(POLICIES, "profile a { policies wep, gpu, west }")
    assert [each.code for each in result.diagnostics] == ["PS104"]


def test_a_policy_of_all_profiles_that_all_exclude() -> None:
    """The help does not ask to list it where it is excluded."""
    text = "policy web { profiles all  for pods  nodeAffinity required a = b }"
    (finding,) = _check(text, "profile a { exclude web }").diagnostics
    assert finding.help == "every profile excludes it: remove an `exclude`, or the policy"
