from __future__ import annotations

import pytest

from policysched.lang import checker, diagnostics, source

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
            "policy a { for pods nodeAffinity required a = b\nprefered c = d }",
            "write `nodeAffinity preferred`, each term is a statement of its own",
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
