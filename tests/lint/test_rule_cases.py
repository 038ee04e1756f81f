from __future__ import annotations

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lint import fixing, settings
from tests.lint import cases

EVERYTHING = settings.LintSettings(ignore=("PS802",))  # examples show one thing, not the form
NEEDED = ("failing.policy", "expected.txt", "passing.policy")


def only(code: str) -> settings.LintSettings:
    """Return settings with one rule; PS803 speaks of what the others have found."""
    return settings.LintSettings(select=(code,)) if code != "PS803" else settings.LintSettings()


def found(code: str, policies: str) -> str:
    """Return what a rule finds, as expected.txt has it."""
    findings = cases.lint(code, policies, only(code))
    return cases.told(tuple(each for each in findings if each.code == code))


def fixed(code: str, policies: str, *, also_unsafe: bool) -> str:
    """Return a text with the fixes of one rule applied."""
    result = cases.checked(policies)
    given = [source.SourceText("x.policy", policies)]
    (text,) = fixing.apply_fixes(
        given,
        {},
        only(code),
        also_unsafe=also_unsafe,
        cluster=cases.cluster(code, result),
        prometheus=cases.prometheus(code, result),
    )
    return text.text


def has_fixes(code: str, policies: str) -> bool:
    """Return whether the rule offers to mend something in a text."""
    findings = cases.lint(code, policies, only(code))
    return any(each.fix is not None for each in findings if each.code == code)


def test_every_rule_has_its_folder_and_no_other_has() -> None:
    """A rule without examples, or examples without a rule, are a mistake."""
    folders = {folder.name for folder in cases.FOLDER.iterdir() if folder.is_dir()}
    assert folders == {code.lower() for code in cases.CODES}


@pytest.mark.parametrize("code", cases.CODES)
def test_the_failing_text_has_the_expected_findings(code: str) -> None:
    """Every place, severity and message is as written down, and there is at least one."""
    expected = cases.text(code, "expected.txt")
    assert expected
    assert found(code, cases.text(code, "failing.policy")) == expected


@pytest.mark.parametrize("code", cases.CODES)
def test_the_passing_text_is_fine_for_all_rules(code: str) -> None:
    """Nothing of the rule is found in it, and nothing of any other at warning or above."""
    findings = cases.lint(code, cases.text(code, "passing.policy"), EVERYTHING)
    assert [each for each in findings if each.code == code or each.severity != "info"] == []


@pytest.mark.parametrize("code", cases.CODES)
def test_fixes_mend_what_they_say(code: str) -> None:
    """The mended text is as written down, can still be read, and what was mended is not found."""
    failing = cases.text(code, "failing.policy")
    if not has_fixes(code, failing):
        assert not (cases.FOLDER / code.lower() / "fixed.policy").exists()
        return
    mended = fixed(code, failing, also_unsafe=True)
    assert mended == cases.text(code, "fixed.policy")
    assert checker.check([source.SourceText("x.policy", mended)]).program is not None
    assert not has_fixes(code, mended)
    assert fixed(code, mended, also_unsafe=True) == mended


@pytest.mark.parametrize("code", cases.CODES)
def test_fixes_of_all_rules_together_leave_a_text_that_can_be_read(code: str) -> None:
    """Fixes that touch the same place do no harm, and applying them again changes nothing."""
    failing = cases.text(code, "failing.policy")
    cluster = cases.cluster(code, cases.checked(failing))
    given = [source.SourceText("x.policy", failing)]
    every = settings.LintSettings()
    once = fixing.apply_fixes(given, {}, every, also_unsafe=True, cluster=cluster)
    assert checker.check(once).program is not None
    assert fixing.apply_fixes(once, {}, every, also_unsafe=True, cluster=cluster) == once
