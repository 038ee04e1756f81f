from __future__ import annotations

import pathlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched import _resources
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.formatting import formatter
from policysched.lang.parsing import parser
from policysched.lang.syntax import kept_parentheses, printing, syntax, syntax_expr
from tests.fmt import policy_trees

CASES = sorted((pathlib.Path(__file__).parent / "cases").glob("*.policy"))
LANGUAGE_CASES = sorted((pathlib.Path(__file__).parents[1] / "lang" / "cases").glob("*.policy"))
SHIPPED = sorted(_resources.find_resource_folder("policies").glob("*.policy"))


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


KEPT = (
    "not (ownerKind = DaemonSet)",
    "not (not a Exists)",
    "(not a = b) and c Exists",
    "(not a = b) or not (c Gt 5)",
)
DROPPED = {
    "(a = b)": "a = b",
    "(a = b) and (c Exists)": "a = b and c Exists",
    "not ((a = b))": "not (a = b)",
    "not (tainted(x))": "not tainted(x)",
    "not a = b": "not a = b",
    "not (a = b and c = d)": "not (a = b and c = d)",
}
KEPT_IN_EXPRESSIONS = (
    "not (free(cpu) > 1)",
    "(free(cpu) * 2) - 1 > 1",
    "(8 / 2) * 3 > 1",
    "3 - (-2) > 1",
    "(label(a) else 0) > 5",
    "(label(a) * 2) else (label(b) else 3) > 1",
    "(free(cpu) - 1) + 2 > 1",
    "(not node(a = b)) and free(cpu) > 1",
)
DROPPED_IN_EXPRESSIONS = {
    "(free(cpu) + 1) > (2)": "free(cpu) + 1 > 2",
    "(1 + 2) + free(cpu) > 1": "1 + 2 + free(cpu) > 1",
    "(free(cpu) > 1) and (node(a = b))": "free(cpu) > 1 and node(a = b)",
    "max((free(cpu)), 1) > 1": "max(free(cpu), 1) > 1",
}


@pytest.mark.parametrize(
    "statement, written, kept",
    [
        *(("nodeAffinity required", each, each) for each in KEPT if "ownerKind" not in each),
        ("reject when pod", f"({KEPT[0]})", f"({KEPT[0]})"),
        *(("nodeAffinity required", *each) for each in DROPPED.items()),
        *(("reject when", each, each) for each in KEPT_IN_EXPRESSIONS),
        *(("reject when", *each) for each in DROPPED_IN_EXPRESSIONS.items()),
    ],
)
def test_parentheses_stay_where_a_reader_may_need_them(
    statement: str, written: str, kept: str
) -> None:
    """Only written ones, and only where something binds first; again they stay as they are."""
    blank = "" if written.startswith("(not (") else " "
    result = _format(f"policy a {{\n  for pods\n  {statement}{blank}{written}\n}}\n")
    assert result.problem == ""
    assert result.text == f"policy a {{\n  for pods\n  {statement}{blank}{kept}\n}}\n"
    assert _format(result.text).text == result.text


@pytest.mark.parametrize("written", [*KEPT_IN_EXPRESSIONS, *DROPPED_IN_EXPRESSIONS])
def test_a_rule_is_called_the_same_with_and_without_parentheses(written: str) -> None:
    """The name of an unnamed rule is a hash of what it says, and decisions record it."""
    names = set()
    for text in (written, _without_kept(written)):
        whole = f"policy a {{ for pods reject when {text} missing allow }}"
        program = checker.check([source.SourceText("x.policy", whole)]).program
        assert program is not None
        (rule,) = program.policies[0].rules
        names.add((rule.head.name, rule.head.text))
    assert len(names) == 1


def _without_kept(written: str) -> str:
    """Return a condition as the tree alone would be printed."""
    text = f"policy a {{ for pods reject when {written} missing allow }}"
    (item,) = parser.parse_policy_text(source.SourceText("x.policy", text)).file.items
    assert isinstance(item, syntax.Policy)
    reject = kept_parentheses.strip_parentheses_marks(item.statements[1])
    return printing.format_expression(reject.condition)


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
        pytest.param("run", "would have a different meaning", id="meaning"),
        pytest.param("_pop_comments_before", "would lose or reorder comments", id="comments"),
    ],
)
def test_a_defect_of_the_formatter_changes_no_text(
    method: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is proven before it is returned."""
    broken: dict[str, Any] = {
        "run": lambda _self: "policy b { for pods }\n",
        "_pop_comments_before": lambda _self, _end: [],
    }
    monkeypatch.setattr(formatter._PolicyFormatter, method, broken[method])
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
    text = "policy p {\n" + "\n".join(printing.format_statement(rule) for rule in rules) + "\n}"
    parsed = parser.parse_policy_text(source.SourceText("x.policy", text))
    assert parsed.diagnostics == ()
    assert parsed.file.items == (policy,)
    result = _format(text)
    assert result.problem == ""
    assert result.text is not None
    assert parser.parse_policy_text(source.SourceText("x.policy", result.text)).file.items == (
        policy,
    )


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
    parsed = parser.parse_policy_text(source.SourceText("a.policy", "policy a {\n  for pods\n}\n"))
    monkeypatch.setattr(parser, "parse_policy_text", None)
    assert formatter.format_parsed(parsed).text == parsed.text.text
