from __future__ import annotations

import pathlib

import pytest

from policysched.lang import source, text_limits
from policysched.lang.checking import checker
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax

FOLDER = pathlib.Path(__file__).parent


def _parse(text: str) -> parser.ParseResult:
    return parser.parse_policy_text(source.SourceText("x.policy", text))


def _codes(text: str) -> list[str]:
    result = checker.check([source.SourceText("x.policy", text)])
    return [each.code for each in result.diagnostics]


def test_ten_seeded_errors_give_ten_diagnostics_at_their_columns() -> None:
    """Errors of ten kinds in one text are all found at once, each at its own word."""
    text = (FOLDER / "seeded" / "ten.policy").read_text(encoding="utf-8")
    result = checker.check([source.SourceText("ten.policy", text)])
    found = [(each.code, each.span.line, each.span.column) for each in result.diagnostics]
    assert found == [
        ("PS102", 2, 25),
        ("PS001", 3, 36),
        ("PS104", 5, 68),
        ("PS001", 10, 34),
        ("PS002", 11, 16),
        ("PS206", 12, 3),
        ("PS301", 13, 73),
        ("PS102", 14, 26),
        ("PS104", 15, 15),
        ("PS304", 16, 9),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "reject when count(self) > 3",
        "nodeAffinity required tenant = pod(tenant) missing reject",
        "podAffinity required pods where app = x topologyKey zone namespaces pod(namespace)",
        "score count(self) prefer low",
    ],
)
def test_comments_can_come_before_a_parenthesis(statement: str) -> None:
    """They mean no more than blanks, also between a word and its parenthesis."""
    commented = statement.replace("(", " # (\n\t# )\r\n(")
    texts = [f"policy p {{ for pods {each} as r }}" for each in (statement, commented)]
    first, second = (checker.check([source.SourceText("x.policy", each)]) for each in texts)
    assert first.program is not None
    assert second.program is not None
    assert first.program.policies == second.program.policies


def test_a_broken_statement_does_not_hide_its_neighbours() -> None:
    """Everything but the spoilt statement reaches the tree."""
    result = _parse("policy a {\n  for pods\n  reject if x\n  tolerate b\n}\npolicy c { for pods }")
    first, second = result.file.items
    assert isinstance(first, syntax.Policy)
    assert isinstance(second, syntax.Policy)
    assert [type(each) for each in first.statements] == [syntax.Scope, syntax.Tolerate]
    assert len(result.diagnostics) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("\n\n# only a comment", id="comment"),
        pytest.param("\r\nversion 1\r\n", id="carriage-returns"),
        pytest.param("policy a{for pods}policy b{for pods}", id="no-blanks"),
        pytest.param("policy a {\tfor\tpods }", id="tabs"),
    ],
)
def test_layout_does_not_matter(text: str) -> None:
    """Blanks, line ends and comments separate words and mean nothing."""
    assert _parse(text).diagnostics == ()


@pytest.mark.parametrize(
    "key",
    ["weight", "score", "policy", "pods", "required", "mode", "node", "all", "disable", "let"],
)
def test_a_keyword_can_be_a_label(key: str) -> None:
    """Keywords are words only where the language expects them."""
    text = (
        f"policy a {{ for pods where {key} = {key}\n"
        f"  nodeAffinity required {key} In ({key}) and {key} Exists\n  tolerate {key}={key} }}"
    )
    assert _codes(text) == []


def test_comments_are_kept_beside_the_tree() -> None:
    """The formatter finds each comment with its place; one in a string or query is none."""
    result = _parse(
        '# one\nlet a = 5 # two\nparam b: string = "# no"\nmetric c: ratio = `# no` # four'
    )
    assert [comment.text for comment in result.file.comments] == ["# one", "# two", "# four"]


# ---------------------------------------------------------------------------- limits


def test_a_text_beyond_the_size_limit_is_refused_unread() -> None:
    """The limit is that of a ConfigMap, in bytes."""
    text = "#" + "ä" * (text_limits.MAX_TEXT_BYTES // 2)
    assert [(each.code, each.span.line) for each in _parse(text).diagnostics] == [("PS004", 1)]
    assert _parse(text[: text_limits.MAX_TEXT_BYTES // 2]).diagnostics == ()


@pytest.mark.parametrize(
    "expr",
    [
        pytest.param("not " * 500 + "a > 1", id="not"),
        pytest.param("- " * 500 + "1 > 1", id="minus"),
        pytest.param("+".join(["free(cpu)"] * 500) + " > 1", id="sum"),
        pytest.param("abs(" * 500 + "1" + ")" * 500 + " > 1", id="calls"),
        pytest.param("node(" + "not " * 500 + "a Exists)", id="selector"),
    ],
)
def test_nesting_is_limited(expr: str) -> None:
    """What nests without end is one diagnostic, never a RecursionError."""
    assert _codes(f"policy a {{ for pods reject when {expr} }}") == ["PS004"]


def test_nested_parentheses_are_no_nesting() -> None:
    """Parentheses leave no trace in the tree, so thousands of them do no harm."""
    expr = "(" * 5000 + "free(cpu)" + ")" * 5000
    assert _codes(f"policy a {{ for pods reject when {expr} > 1 }}") == []


def test_nested_plugin_arguments_are_limited() -> None:
    """Plugin arguments count like expressions."""
    args = "[" * 500 + "]" * 500
    assert _codes(f"profile a {{ plugin B args {{ x: {args} }} }}") == ["PS004"]


def test_lets_do_not_multiply_without_end() -> None:
    """Twenty lets that double each other would be a million terms: refused where it is used."""
    lets = ["let a0 = free(cpu)"] + [f"let a{n} = a{n - 1} + a{n - 1}" for n in range(1, 21)]
    codes = _codes("\n".join([*lets, "policy p { for pods reject when a20 > 1 }"]))
    assert set(codes) == {"PS004"}


def test_selector_lets_do_not_multiply_without_end() -> None:
    """The same for selectors."""
    lets = ["let a0 = { x Exists }"]
    lets += [f"let a{n} = {{ a{n - 1} or a{n - 1} }}" for n in range(1, 21)]
    codes = _codes("\n".join([*lets, "policy p { for pods nodeAffinity required a20 }"]))
    assert set(codes) == {"PS004"}


def test_a_chain_of_lets_is_limited() -> None:
    """Lets that stand on each other's shoulders end somewhere, also where each is one word."""
    lets = ["let a0 = 5"] + [f"let a{n} = a{n - 1}" for n in range(1, 3000)]
    assert set(_codes("\n".join(lets))) == {"PS004"}


def test_the_number_of_statements_is_limited() -> None:
    """Beyond the limit the texts are not looked at further."""
    body = "tolerate x\n" * (text_limits.MAX_STATEMENTS + 1)
    assert _codes(f"policy a {{ for pods {body} }}") == ["PS004"]


def test_a_text_full_of_errors_ends_soon() -> None:
    """The parser stops at the limit of diagnostics instead of parsing once for each of them."""
    text = "policy a {\n  for pods\n" + "  nodeAffinity required a Inn (b)\n" * 2000 + "}"
    result = _parse(text)
    assert len(result.diagnostics) == text_limits.MAX_DIAGNOSTICS


def _make_sums(texts: int) -> list[source.SourceText]:
    """Return policies that together have more words than there may be."""
    sums = "+1" * (text_limits.MAX_WORDS // 2 // texts)
    return [
        source.SourceText(
            f"{number}.policy", f"policy p{number} {{ for pods reject when 1{sums} }}"
        )
        for number in range(texts)
    ]


def _count_word_limits(texts: list[source.SourceText]) -> int:
    found = [
        each for each in checker.check(texts).diagnostics if "words and symbols" in each.message
    ]
    assert {each.code for each in found} <= {"PS004"}
    return len(found)


@pytest.mark.slow
def test_the_number_of_words_is_limited() -> None:
    """Before memory is spent on them: a MiB may have a million."""
    assert _count_word_limits(_make_sums(1)) == 1


def test_the_number_of_words_is_limited_over_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four texts, the last one passes the limit."""
    monkeypatch.setattr(text_limits, "MAX_WORDS", 4_000)
    assert _count_word_limits(_make_sums(4)[:3]) == 0
    assert _count_word_limits(_make_sums(4)) == 1


def test_the_number_of_texts_is_limited() -> None:
    """Of a hundred thousand keys nobody needs to hear of each."""
    whole = [
        source.SourceText(f"{n}.policy", "version 1\n") for n in range(text_limits.MAX_TEXTS + 9)
    ]
    assert [each.code for each in checker.check(whole).diagnostics] == ["PS004"]
