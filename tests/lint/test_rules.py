from __future__ import annotations

import pathlib
import re

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lint import fixing, linter, registry, settings
from policysched.lint import rule as rules
from policysched.lint.facts import cluster_facts, prometheus_facts
from tests.lint import cases

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ROOT / "docs" / "lint"
EXAMPLE = re.compile(r"```policy (finding|fine)\n(.*?)```", re.DOTALL)
CODES = cases.CODES


def page(code: str) -> str:
    """Return the page of a rule."""
    return (PAGES / f"{code}.md").read_text(encoding="utf-8")


def examples(code: str, kind: str) -> list[str]:
    """Return the policies that a page shows."""
    return [text for found, text in EXAMPLE.findall(page(code)) if found == kind]


def lint(text: str, code: str) -> tuple[diagnostics.Diagnostic, ...]:
    """Return what all rules find that run together with a rule."""
    return cases.lint(code, text, settings.LintSettings())


def mended(
    given: list[source.SourceText],
    only: settings.LintSettings,
    cluster: cluster_facts.ClusterFacts | None,
    prometheus: prometheus_facts.PrometheusFacts | None,
    *,
    also_unsafe: bool,
) -> source.SourceText:
    """Return the text with fixes applied."""
    (fixed,) = fixing.apply_fixes(
        given, {}, only, also_unsafe=also_unsafe, cluster=cluster, prometheus=prometheus
    )
    return fixed


def rule_of(code: str) -> rules.LintRule:
    """Return the rule with a code."""
    every = (
        registry.list_offline_rules()
        + registry.list_cluster_rules()
        + registry.list_prometheus_rules()
    )
    return next(each for each in every if each.code == code)


@pytest.mark.parametrize("code", CODES)
def test_every_rule_has_a_page(code: str) -> None:
    """The page begins with the code and its sentence, and tells the severity."""
    rule = rule_of(code)
    assert page(code).startswith(f"# {code}: {rule.title}\n\nSeverity: {rule.severity}")


@pytest.mark.parametrize("code", CODES)
def test_every_page_says_how_to_silence_and_configure(code: str) -> None:
    """The reader of a finding is told the comment that accepts it, and where settings are told."""
    assert f"# policysched: ignore[{code if code != 'PS803' else 'CODE'}] reason" in page(code)
    assert "[configured](../commands.md#lint)" in " ".join(page(code).split())


@pytest.mark.parametrize("code", CODES)
def test_the_failing_text_of_the_page_is_reported(code: str) -> None:
    """What the page says is reported is, at the rule's severity, and of rules that warn alone."""
    rule = rule_of(code)
    for text in examples(code, "finding"):
        findings = lint(text, code)
        assert code in {each.code for each in findings}
        assert {each.severity for each in findings if each.code == code} == {rule.severity}


@pytest.mark.parametrize("code", CODES)
def test_the_passing_text_of_the_page_is_fine(code: str) -> None:
    """What the page says is fine has nothing of this rule, and nothing at warning or above."""
    assert examples(code, "fine")
    for text in examples(code, "fine"):
        findings = lint(text, code)
        assert [each for each in findings if each.code == code] == []
        assert [each for each in findings if each.severity != "info"] == []


@pytest.mark.parametrize("code", CODES)
def test_the_fix_removes_the_finding(code: str) -> None:
    """Where the page promises a fix, all findings of the rule have gone after it."""
    promised = re.search(r"with an? (safe|unsafe) fix", page(code))
    only = settings.LintSettings(select=(code,) if code != "PS803" else ())
    for text in examples(code, "finding"):
        result = cases.checked(text)
        known = cases.cluster(code, result), cases.prometheus(code, result)
        given = [source.SourceText("x.policy", text)]
        fixed, safely = (mended(given, only, *known, also_unsafe=each) for each in (True, False))
        left = [each for each in lint(fixed.text, code) if each.code == code]
        if promised is None:
            assert fixed.text == text
        else:
            assert left == []
            assert (safely.text == fixed.text) is (promised[1] == "safe")


@pytest.mark.parametrize("code", CODES)
def test_every_rule_is_a_module(code: str) -> None:
    """One rule, one file, whose name begins with its code."""
    (module,) = (ROOT / "policysched" / "lint" / "rules").glob(f"*/{code.lower()}_*.py")
    assert module.read_text(encoding="utf-8").startswith(f'"""{code}: ')


@pytest.mark.parametrize("path", sorted((ROOT / "policies").glob("*.policy")), ids=lambda p: p.name)
def test_shipped_policies_have_no_warning(path: pathlib.Path) -> None:
    """What we ship is an example of what lint asks for."""
    result = checker.check([source.SourceText("x.policy", path.read_text(encoding="utf-8"))])
    findings = linter.lint_program(result, settings.LintSettings()).findings
    assert [each for each in findings if each.severity != "info"] == []
