from __future__ import annotations

import pathlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched import _resources
from policysched.lang import formatter, parser, printing, source, syntax, syntax_expr
from tests.fmt import policy_trees

CASES = sorted((pathlib.Path(__file__).parent / "cases").glob("*.policy"))
LANGUAGE_CASES = sorted((pathlib.Path(__file__).parents[1] / "lang" / "cases").glob("*.policy"))
SHIPPED = sorted(_resources.folder("policies").glob("*.policy"))


def _format(text: str) -> formatter.FormatResult:
    return formatter.format_text(source.SourceText("x.policy", text))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_text_has_one_layout(path: pathlib.Path) -> None:
    """Input, `# output`, canonical text; the canonical text stays as it is."""
    written, expected = path.read_text(encoding="utf-8").split("\n# output\n")
    result = _format(written + "\n")
    assert result.text == expected, result
    assert _format(expected).text == expected


def test_a_name_that_is_a_word_of_the_language_stays_a_name() -> None:
    """`pod-x` is a difference; with a blank behind it `pod` would begin a test of the pod."""
    result = _format("policy p { for pods reject when pod-x*node-y > 1 missing allow }")
    assert (result.problem, result.text) == (
        "",
        "policy p {\n  for pods\n  reject when pod- x * node- y > 1 missing allow\n}\n",
    )


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_policies_are_canonical(path: pathlib.Path) -> None:
    """What people start from looks as fmt leaves it."""
    text = path.read_text(encoding="utf-8")
    assert _format(text).text == text


@pytest.mark.parametrize("path", LANGUAGE_CASES, ids=lambda path: path.stem)
def test_every_case_of_the_language_can_be_formatted(path: pathlib.Path) -> None:
    """Comments of these texts matter to their tests, so none may be lost."""
    for text in path.read_text(encoding="utf-8").split("\n---\n"):
        result = _format(text)
        assert (result.text is None) == bool(result.diagnostics)
        assert result.problem == ""
        if result.text is not None:
            assert result.text.count("#") == text.count("#")


def test_a_text_with_errors_is_left_alone() -> None:
    """Its diagnostics come back instead of text."""
    result = _format("policy a { for pods reject if x }")
    assert result.text is None
    assert [each.code for each in result.diagnostics] == ["PS001"]


@pytest.mark.parametrize(
    "method, problem",
    [
        pytest.param("run", "would mean something else", id="meaning"),
        pytest.param("_take", "would lose or reorder comments", id="comments"),
    ],
)
def test_a_defect_of_the_formatter_changes_no_text(
    method: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is proven before it is returned."""
    broken: dict[str, Any] = {
        "run": lambda _self: "policy b { for pods }\n",
        "_take": lambda _self, _end: [],
    }
    monkeypatch.setattr(formatter._Formatter, method, broken[method])
    result = _format("# c\npolicy a { for pods }\n")
    assert result.text is None
    assert problem in result.problem


@given(st.lists(policy_trees.rules, min_size=1, max_size=3))
def test_what_is_printed_parses_to_the_same_tree(rules: list[syntax.Statement]) -> None:
    """Parentheses stand where they are needed, strings are escaped, whatever the tree."""
    policy = syntax.Policy(
        policy_trees.SPAN,
        "policy",
        syntax_expr.Value(policy_trees.SPAN, "p"),
        tuple(rules),
    )
    text = "policy p {\n" + "\n".join(printing.statement(rule) for rule in rules) + "\n}"
    parsed = parser.parse(source.SourceText("x.policy", text))
    assert parsed.diagnostics == ()
    assert parsed.file.items == (policy,)
    result = _format(text)
    assert result.problem == ""
    assert result.text is not None
    assert parser.parse(source.SourceText("x.policy", result.text)).file.items == (policy,)


@given(
    st.lists(
        st.sampled_from(
            [
                "# a",
                "# b",
                "\n",
                "\n\n",
                "policy p { ",
                "for pods ",
                "tolerate x ",
                "tolerate y,",
                "z ",
                "} ",
                "let a = 5 ",
                "let s = { a ",
                "Exists } ",
                "# {",
                '# "',
            ]
        ),
        max_size=14,
    )
)
def test_no_comment_is_ever_lost(parts: list[str]) -> None:
    """Wherever comments stand, all of them come out, in their order."""
    text = "".join(part + ("\n" if part.startswith("#") else "") for part in parts)
    result = _format(text)
    assert result.problem == ""
    if result.text is not None:
        assert _format(result.text).text == result.text


def test_a_canonical_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lint formats every text that it has read; there is nothing to prove of most of them."""
    parsed = parser.parse(source.SourceText("a.policy", "policy a {\n  for pods\n}\n"))
    monkeypatch.setattr(parser, "parse", None)
    assert formatter.format_parsed(parsed).text == parsed.text.text
