from __future__ import annotations

import re
from random import Random

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import scanner
from tests.lang import mistakes

METRIC = "metric m: ratio = `x` node n missing allow "
TEXTS = {
    "operator": "policy a { for pods where app Inn (web) }",
    "statement": "policy a { for pods nodeAfinity required a Exists }",
    "list": "policy a { for pods nodeAffinity required a In b }",
    "sign": "policy a { for pods where a = b && c = d }",
    "end-mark": "policy a { for pods; tolerate x; }",
    "pasted": "policy a { for pods\n nodeAffinity requiredDuringSchedulingIgnoredDuringExecution\n"
    "  matchExpressions: disk In (ssd) }",
    "pasted-statement": "policy a { for pods\n tolerations x\n}",
    "colon": "policy a { for pods nodeAffinity preferred a Exists weight: 5 }",
    "image": "policy a { for pods where image = nginx:1.25 }",
    "comma": "policy a { for pods where a = b, c = d }",
    "mixed": "policy a { for pods where a = b and c = d or e = f }",
    "whole": "policy a { for pods nodeAffinity required cores Gt 7.5 }",
    "percent": METRIC + "policy a { for pods reject when m > 80 }",
    "name": METRIC + "let mem = m policy a { for pods reject when men > 8% }",
    "enumerated": "policy a { mode enforced for pods }",
    "topology": "policy a { for pods podAntiAffinity required self }",
    "missing": "metric m: ratio = `x` node n policy a { for pods reject when m > 8% as x }",
    "missing-score": "policy a { for pods score label(x) prefer low weight 5 }",
    "weight": "policy a { for pods nodeAffinity required a Exists weight 5 as x }",
    "unit": "policy a { for pods reject when free(memory) < 4GiB }",
    "quotes": "policy a { for pods reject when free(nvidia.com/gpu) = 1 }",
    "quotes-strategy": "policy a { for pods score LeastAllocated(cpu: 1, nvidia.com/gpu: 2) }",
    "brace": "policy a {\n for pods\n",
}


def _apply(text: str, fix: diagnostics.Fix) -> str:
    for edit in sorted(fix.edits, key=lambda each: each.span.start, reverse=True):
        text = text[: edit.span.start] + edit.replacement + text[edit.span.end :]
    return text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_applying_the_fixes_leaves_no_error(text: str) -> None:
    """Each round applies the first fix; in a few rounds the text is right."""
    for _ in range(4):
        result = checker.check([source.SourceText("x.policy", text)])
        if result.program is not None:
            return
        fix = result.diagnostics[0].fix
        assert fix is not None, result.diagnostics[0]
        text = _apply(text, fix)
    pytest.fail(text)


@pytest.mark.parametrize(
    "text, help_text",
    [
        pytest.param("param x: ratio = 80", "write `80%`", id="percent"),
        pytest.param(
            "policy a { for pods reject when free(nvidia.com/gpu) = 1 }",
            'write `free("nvidia.com/gpu")`',
            id="quotes",
        ),
        pytest.param(
            "policy a { for pods score free(cpu) prefer high weight -5 }",
            "weights are positive: write `prefer low` in a score, `not (…)` in a preference",
            id="negative-weight",
        ),
        pytest.param(
            "policy a { for pods reject when free(memory) < 512 }",
            "write `512Mi` or `512Gi`",
            id="bytes",
        ),
        pytest.param(
            "policy a { for pods nodeAffinity required a = b\nprefered c = d }",
            "write `nodeAffinity preferred`; each term is a separate statement",
            id="strength",
        ),
    ],
)
def test_help_says_the_edit(text: str, help_text: str) -> None:
    """What to write stands in the help, word for word."""
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert finding.help == help_text


@pytest.mark.parametrize("place", ["where a Gt {}", "reject when free(cpu) > {}", "where a = {}"])
def test_an_endless_word_is_not_echoed_whole(place: str) -> None:
    """A number of 100,000 digits is recognized by its first ones."""
    text = f"policy a {{ for pods {place.format('1' * 100_000)} }}"
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert "1111…" in finding.message
    assert len(finding.message) + len(finding.label) + len(finding.help) < 300


@pytest.mark.parametrize(
    "text, sign, line, column",
    [
        pytest.param("version 1\n// all pods\npolicy a { for pods }", "//", 2, 1, id="item"),
        pytest.param("policy a {\n  for pods\n  // x y\n}", "//", 3, 3, id="statement"),
        pytest.param(
            "policy a {\n  for pods\n  reject when free(cpu) < 2 // keep some\n}",
            *("//", 3, 29),
            id="behind-a-number",
        ),
        pytest.param("policy a {\n  /* two\n  lines */\n  for pods\n}", "/*", 2, 3, id="block"),
        pytest.param(
            "policy a {\n  for pods\n  reject when free(cpu) < 2 -- keep some\n}",
            *("--", 3, 29),
            id="sql",
        ),
        pytest.param("policy a {\n  ; all of them\n  for pods\n}", ";", 2, 3, id="ini"),
    ],
)
def test_a_comment_of_another_language_is_one_finding(
    text: str, sign: str, line: int, column: int
) -> None:
    """It is called a comment, at its sign, and everything around it is still checked."""
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert finding.message == f"`{sign}` does not begin a comment"
    assert finding.help == "comments begin with `#` and end with the line"
    assert (finding.span.line, finding.span.column) == (line, column)
    (_, other) = checker.check(
        [source.SourceText("x.policy", text + "\npolicy b { for pods where a Inn (b) }")]
    ).diagnostics
    assert "Inn" in other.message


@pytest.mark.parametrize("sign, words", [(">=", "Ge ge GE Gte gteq"), ("<=", "Le le LE Lte lteq")])
def test_an_operator_that_kubernetes_lacks_is_written_as_a_sign(sign: str, words: str) -> None:
    """`Ge` and `Le` are neither Gt nor Lt, which other values satisfy."""
    for operator in words.split():
        text = f"policy a {{ for pods nodeAffinity required cores {operator} 5 }}"
        (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
        assert finding.help == f"write `{sign}`"


GLUED = [
    "tolerate dedicated=web;maintenance",
    "nodeAffinity required zone = a||b",
    "nodeAffinity required a = b&&c",
    "nodeAffinity required a = b&&c=d",
    "nodeAffinity required a = b|c",
    "nodeAffinity preferred a = b weight 1;5",
    "reject when priority < 1;2",
    "reject when free(cpu)<2&&free(memory)<1Gi",
    "reject when free(cpu) < 2 as a;b",
    "reject when cast(cores as int) > 5",
    "reject when free(cpu) / on(node) free(cpu) > 3",
    "topologySpread topologyKey zone;host",
    "topologySpread topologyKey zone maxSkew 1;2",
    "tolerate x;tolerate y",
    "tolerations:a",
]


def _joined_words(text: str, fix: diagnostics.Fix) -> list[str]:
    """Return the words and signs of the fixed text that an untouched one has become a part of."""
    fixed = scanner.LexemeScan(source.SourceText("x.policy", _apply(text, fix)))
    joined = []
    for each in scanner.LexemeScan(source.SourceText("x.policy", text)).lexemes:
        if any(edit.span.start < each.end and each.start < edit.span.end for edit in fix.edits):
            continue
        before = [edit for edit in fix.edits if edit.span.end <= each.start]
        start = each.start + sum(
            len(edit.replacement) - (edit.span.end - edit.span.start) for edit in before
        )
        now = fixed.find_lexeme_at(start)
        if now is not None and now.kind in ("word", "sign") and now.start <= start:
            joined += [now.text] if now.text != each.text else []
    return joined


def _assert_keeps_words(text: str) -> None:
    for finding in checker.check([source.SourceText("x.policy", text)]).diagnostics:
        if finding.fix is not None:
            assert _joined_words(text, finding.fix) == [], (text, finding)


@pytest.mark.parametrize("rule", GLUED)
def test_a_fix_joins_no_words(rule: str) -> None:
    """What is left out or replaced leaves a blank between the words around it."""
    _assert_keeps_words(f"policy a {{\n  for pods\n  {rule}\n}}\n")


@pytest.mark.slow
@pytest.mark.proof
def test_no_fix_of_the_mistakes_joins_words() -> None:
    """Nor do the fixes of the mistakes, without some of their characters and blanks."""
    rng = Random(18)
    for mistake in mistakes.load_mistakes():
        text = mistake.written
        _assert_keeps_words(text)
        start = rng.randrange(len(text))
        _assert_keeps_words(text[:start] + text[start + rng.randint(1, 4) :])
        _assert_keeps_words(re.sub(r"(?<=\S) (?=[^\w\s])|(?<=[^\w\s]) (?=\S)", "", text))


@pytest.mark.parametrize(
    "rule, is_safe",
    [
        pytest.param("tolerate x;", True, id="end-of-line"),
        pytest.param("tolerate x; }", True, id="end-of-block"),
        pytest.param("tolerate x; tolerate y", False, id="between-statements"),
    ],
)
def test_an_end_mark_is_removed_unasked_at_an_end_only(rule: str, is_safe: bool) -> None:
    """Between words a `;` has several readings."""
    text = f"policy a {{\n  for pods\n  {rule}\n}}\n"
    fix = checker.check([source.SourceText("x.policy", text)]).diagnostics[0].fix
    assert fix is not None
    assert fix.safe == is_safe


@pytest.mark.parametrize("rule", ["tolerate a=b;c", "reject when priority < 1;2 as x"])
def test_an_end_mark_between_values_has_no_fix(rule: str) -> None:
    """It may mean a comma, a new statement or nothing."""
    text = f"policy a {{\n  for pods\n  {rule}\n}}\n"
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert finding.fix is None
    assert finding.help == "separate values with `,`; statements have no end mark"
