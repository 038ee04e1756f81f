"""Mistakes of people who know another language: what is said of each, and where it leads."""

from __future__ import annotations

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from tests.lang import mistakes

ALL = mistakes.load_mistakes()
LEADING_SHARE = 0.95


@pytest.mark.parametrize("mistake", [pytest.param(each, id=each.name) for each in ALL])
def test_a_mistake_has_its_code_place_and_help(mistake: mistakes.Mistake) -> None:
    """What is said of a mistake is what its file holds."""
    assert mistakes.says(mistake) == mistake.says


@pytest.mark.parametrize("mistake", [pytest.param(each, id=each.name) for each in ALL])
def test_the_meaning_of_a_mistake_compiles(mistake: mistakes.Mistake) -> None:
    """The text that was meant has no error, the written one has."""
    assert mistakes.check(mistake.meant).program is not None
    assert mistakes.check(mistake.written).program is None


@pytest.mark.parametrize("mistake", [pytest.param(each, id=each.name) for each in ALL])
def test_the_help_leads_to_the_meaning(mistake: mistakes.Mistake) -> None:
    """Following the help gives the text that was meant, unless the file says otherwise."""
    assert mistakes.leads_to_meaning(mistake) == mistake.leads


def test_most_helps_lead_to_the_meaning() -> None:
    """The share of mistakes whose help leads to the meaning stays above the goal."""
    assert sum(mistake.leads for mistake in ALL) >= LEADING_SHARE * len(ALL)


def test_the_names_of_edits_are_in_the_help() -> None:
    """An edit of a mistake is made only with words that the help names."""
    finding = diagnostics.Diagnostic(
        "PS001", "m", source.SourceText("x", "a b\n").span(0, 1), help="add `c`"
    )
    assert mistakes.follow("a b\n", finding, [("b", "b c")]) == "a b c\n"
    assert mistakes.follow("a b\n", finding, [("b", "b d")]) is None


MESSAGES = {
    "no-break-space": ("reject when\u00a0free(cpu) < 2", "U+00A0 NO-BREAK SPACE"),
    "cyrillic": ("nodeAffinity required disk = s\u043elid", "U+043E CYRILLIC SMALL LETTER O"),
    "equals": ("topologySpread topologyKey zone maxSkew=1", "takes its value without `=`"),
    "colon": ("score free(cpu) prefer: high", "takes its value without `:`"),
    "helm": ("nodeAffinity required a = {{ .Values.a }}", "Helm template"),
    "wildcard": ("nodeAffinity required disk = ssd*", "a value with `*` needs quotes"),
    "part of a value": (
        "nodeAffinity required disk startswith ssd",
        "labels cannot be matched in part",
    ),
    "one character": ("nodeAffinity required nodeName = web-?", "`web-?` contains a wildcard"),
    "clause of a text": ("import metrics", "`import` does not belong in a policy"),
    "let in a policy": ("let x = 5", "names are defined outside policies"),
    "clause without statement": ('during "Mon 08:00-18:00"', "`during` is a clause"),
    "toleration of a manifest": ("tolerate key: a", "`a` is not a taint effect"),
    "operator of labels": ("tolerate a NotIn (b)", "`NotIn` is not an operator for taints"),
    "metric in a policy": (
        "metric x: ratio = `x` node node",
        "`metric` does not belong in a policy",
    ),
    "count of pods": ("reject when pods(app = web) > 3", "there is no function `pods`"),
    "statement": ("filter free(cpu) < 2", "`filter` is neither a clause nor a statement"),
    "power": ("score free(cpu) ** 2", "there is no power operator"),
    "small amount": ("reject when free(memory) < 512", "is compared with 512"),
    "effect": ("tolerate :NoSchedule", "expected the key of a taint before `:NoSchedule`"),
    "unit": ("reject when free(memory) < 4GB", "has an unknown unit"),
}


@pytest.mark.parametrize("rule, message", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_names_what_is_wrong(rule: str, message: str) -> None:
    """The sentence itself says which character, sign or word is wrong."""
    text = f"policy a {{\n  for pods\n  {rule}\n}}\n"
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert message in finding.message


def test_a_rewriting_stays_within_its_braces() -> None:
    """An error within a policy never proposes to rewrite the line that opens it."""
    text = "policy a { for pods reject when free(cpu) < 2 ? oh : no }"
    for finding in checker.check([source.SourceText("x.policy", text)]).diagnostics:
        edits = finding.fix.edits if finding.fix else ()
        assert all(edit.span.start > text.index("{") for edit in edits)


def test_a_metric_that_was_cut_off_lacks_nothing() -> None:
    """Where an option of a metric cannot be read, that it has no `node` is not said as well."""
    text = "metric a: ratio = `x` by instance\n"
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert finding.help == "write `node`"


def test_a_template_in_a_query_is_to_be_rendered() -> None:
    """The query is not blamed for its braces."""
    text = "metric a: ratio = `rate({{ .Values.name }}[5m])` node node\n"
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert (finding.code, finding.span.column) == ("PS401", 25)
    assert finding.help == "render the template first, and check its output"


def test_a_let_in_a_policy_ends_no_policy() -> None:
    """A policy whose braces are balanced is closed; without its brace the item begins a new one."""
    text = "policy a {\n  for pods\n  let x = 5\n}\n"
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert finding.help == "move the definition before the policy: `let NAME = VALUE`"
    (finding,) = checker.check([source.SourceText("x.policy", text[:-2])]).diagnostics
    assert finding.message == "`policy a` is never closed"
