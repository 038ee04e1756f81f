"""The pages about the language are executed: examples check, errors appear exactly as shown."""

from __future__ import annotations

import pathlib
import re
from typing import NamedTuple

import pytest

from policysched.cli import main
from policysched.lang import source, text_limits
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics, rendering
from policysched.lang.words import syntax_words, vocabulary
from tests import page_examples
from tests.lang import language_pages, page_grammar

DOCS = page_examples.DOCS
_BLOCK = re.compile(r"^```(.*)\n((?:(?!```).*\n)*)```$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_SYNTAX_CODES = {"PS001", "PS002", "PS003", "PS004", "PS105"}


class Example(NamedTuple):
    """One fenced block: its tag, its text, and the diagnostics that are shown behind it."""

    name: str
    tag: str
    text: str
    shown: str


def examples(page: str) -> list[Example]:
    """Return the policy blocks of a page of docs/."""
    content = (DOCS / page).read_text(encoding="utf-8")
    blocks = [
        (content[: match.start()].count("\n") + 1, match.group(1), match.group(2))
        for match in _BLOCK.finditer(content)
    ]
    found = []
    for index, (line, tag, text) in enumerate(blocks):
        if not tag.startswith("policy"):
            continue
        following = blocks[index + 1] if index + 1 < len(blocks) else (0, "", "")
        shown = following[2] if following[1] == "diagnostics" else ""
        found.append(Example(f"{page}:{line}", tag, text, shown))
    return found


PAGES = (
    "language.md",
    "language-reference.md",
    "diagnostics.md",
    "metrics.md",
    "ast.md",
    "from-others.md",
)
EXAMPLES = [example for page in PAGES for example in examples(page)]
GUIDE = language_pages.GUIDE.read_text(encoding="utf-8")
REFERENCE = language_pages.REFERENCE.read_text(encoding="utf-8")
DIAGNOSTICS = (DOCS / "diagnostics.md").read_text(encoding="utf-8")


def _with_errors(expected: bool) -> list[pytest.ParameterSet]:
    chosen = [each for each in EXAMPLES if (each.tag == "policy refused") is expected]
    return [pytest.param(each, id=each.name) for each in chosen]


@pytest.mark.parametrize("example", _with_errors(expected=False))
def test_an_example_is_free_of_errors(example: Example) -> None:
    """What the pages show as policies can be used as it stands."""
    text = source.SourceText("example.policy", example.text)
    result = checker.check([text])
    assert [rendering.render_diagnostic(each, result.texts) for each in result.diagnostics] == []


@pytest.mark.parametrize("example", _with_errors(expected=True))
def test_an_error_is_shown_as_it_appears(example: Example) -> None:
    """The diagnostics on the pages are those of the checker, to the letter."""
    assert language_pages.check_text(example.text) + "\n" == example.shown


@pytest.mark.parametrize("example", [e for e in examples("language.md") if e.shown == ""])
def test_an_example_of_the_guide_is_worth_copying(example: Example, tmp_path: pathlib.Path) -> None:
    """It is in the layout of `fmt`, and lint has no warning."""
    path = tmp_path / "example.policy"
    path.write_text(example.text, encoding="utf-8")
    assert main.main(["fmt", "--check", str(path)]) == 0
    assert main.main(["lint", str(path)]) == 0


def test_each_page_has_examples_of_each_kind() -> None:
    """The tests above do not pass by finding nothing."""
    with_errors = {(each.name.split(":")[0], each.tag == "policy refused") for each in EXAMPLES}
    assert with_errors >= {(page, kind) for page in PAGES[:2] for kind in (True, False)}
    assert {each.tag.split()[0] for each in EXAMPLES} == {"policy"}


@pytest.mark.parametrize("page", [language_pages.GUIDE, language_pages.SYNTAX_TREE])
def test_commands_print_what_the_page_shows(page: pathlib.Path) -> None:
    """Run in the order of the page, beside its files."""
    consoles = [block for block in page_examples.read_blocks(page) if block.kind == "console"]
    with page_examples.workspace(page):
        assert [page_examples.run(each) for each in consoles] == [each.body for each in consoles]
    assert consoles


def test_every_policy_test_of_the_guide_is_run() -> None:
    """No test file is shown that no command names."""
    files = [b.file for b in page_examples.read_blocks(language_pages.GUIDE) if b.kind == "yaml"]
    assert files
    assert [name for name in files if f"$ policysched test {name}\n" not in GUIDE] == []


def _mistakes() -> list[tuple[str, str]]:
    return re.findall(r"^\| `([^`]+)` \| (PS\d{3}) \|", GUIDE, re.MULTILINE)


@pytest.mark.parametrize("statement, code", _mistakes())
def test_a_mistake_of_the_guide_has_its_code(statement: str, code: str) -> None:
    """The statement has exactly one kind of error."""
    text = f"metric cpu_busy: ratio = `x` node instance policy p {{ for pods {statement} }}"
    result = checker.check([source.SourceText("example.policy", text)])
    assert {each.code for each in result.diagnostics} == {code}


@pytest.mark.parametrize("code", diagnostics.CODES)
def test_every_code_has_a_section_with_an_example_that_raises_it(code: str) -> None:
    """diagnostics.md has for each code its sentence and a text that is refused by it."""
    sections = re.split(r"^## ", DIAGNOSTICS, flags=re.MULTILINE)
    section = next((each for each in sections if each.startswith(f"{code}: ")), "")
    assert section.startswith(f"{code}: {diagnostics.CODES[code]}\n")
    assert re.search(rf"^(error|warning)\[{code}\]: ", section, re.MULTILINE) or code == "PS004"


def test_the_limits_are_those_of_the_checker() -> None:
    """The table of limits holds the values of the code, in its order."""
    table = REFERENCE.split("## Limits\n")[1]
    values = [int(each.replace(",", "")) for each in re.findall(r"\| ([\d,]+) \|", table)]
    assert values == [
        text_limits.MAX_TEXT_BYTES,
        text_limits.MAX_WORDS,
        text_limits.MAX_TEXTS,
        text_limits.MAX_DEPTH,
        text_limits.MAX_STATEMENTS,
        text_limits.MAX_EXPANDED_NODES,
        text_limits.MAX_EXPANDED_DEPTH,
        text_limits.MAX_LET_CHAIN,
        text_limits.MAX_DIAGNOSTICS,
        text_limits.MAX_QUERY_WORDS,
        text_limits.MAX_QUERY_DEPTH,
    ]


def _vocabulary() -> set[str]:
    return {
        *(name for table in vocabulary.FIELDS.values() for name in table),
        *vocabulary.SELECTOR_FUNCTIONS,
        *vocabulary.FUNCTIONS,
        *vocabulary.EXPRESSION_FIELDS,
        *vocabulary.ELAPSED_TIMES,
        *vocabulary.STRATEGIES,
        *vocabulary.NORMALIZATIONS,
        *vocabulary.PARAM_TYPES,
        *vocabulary.SPREAD_FIELDS,
        *vocabulary.TAINT_EFFECTS,
        *vocabulary.MODES,
        *vocabulary.DIRECTIONS,
        *vocabulary.WHEN_UNSATISFIABLE,
        *vocabulary.NODE_INCLUSION,
        *vocabulary.MISSING_ACTIONS,
        *vocabulary.OUTAGE_ACTIONS,
        *vocabulary.WINDOW_FUNCTIONS,
        *vocabulary.RESERVED_NAMES,
        *syntax_words.ALL_KEYWORDS,
    }


@pytest.mark.parametrize("word", sorted(_vocabulary()))
def test_every_word_of_the_language_is_in_the_reference(word: str) -> None:
    """No word works that the reference does not name."""
    assert re.search(rf"\b{re.escape(word)}\b", REFERENCE)


def test_every_keyword_is_in_a_line_of_the_grammar() -> None:
    """The grammar lines are complete in words."""
    words = {word for line in page_grammar.grammar_lines() for word in line.text.split()}
    words = {part for word in words for part in re.findall(r"[A-Za-z]+", word)}
    assert words >= syntax_words.ALL_KEYWORDS


@pytest.mark.parametrize("line", page_grammar.grammar_lines(), ids=lambda line: line.text)
def test_sentences_of_the_grammar_parse(line: page_grammar.GrammarLine) -> None:
    """No sentence has an error of syntax, or a word that its place does not take."""
    for sentence in page_grammar.iterate_sentences(line):
        result = checker.check([source.SourceText("example.policy", sentence)])
        assert not {each.code for each in result.diagnostics} & _SYNTAX_CODES, sentence


def test_a_line_with_a_wrong_word_would_be_found() -> None:
    """The notation is expanded, and the checker refuses what the line wrongly allows."""
    line = page_grammar.GrammarLine("statement", "nodeAffinity required|preferable SELECTOR")
    sentences = list(page_grammar.iterate_sentences(line))
    codes = [
        {each.code for each in checker.check([source.SourceText("p", text)]).diagnostics}
        for text in sentences
    ]
    assert ["PS001" in each for each in codes] == ["preferable" in text for text in sentences]
    assert any("required" in text for text in sentences)


def _allowed_clauses() -> dict[str, set[str]]:
    """Return the table of clauses: statement -> clauses."""
    table = REFERENCE.split("### Clauses\n")[1].split("| clause |")[0]
    allowed = {}
    for left, right in re.findall(r"^\| (`.*?) \| (`.*) \|$", table, re.MULTILINE):
        for name in _CODE.findall(left):
            key = "score strategy" if left.endswith("strategy") else name
            allowed[key] = set(_CODE.findall(right))
    return allowed


def test_the_table_of_clauses_is_that_of_the_checker() -> None:
    """Each statement has exactly these clauses."""
    expected = {name: set(words) for name, words in syntax_words.ALLOWED_CLAUSES.items()}
    options = set(expected.pop("metric"))
    assert _allowed_clauses() == expected
    table = REFERENCE.split("## Metrics\n")[1].split("$NAME")[0]
    assert {row.split()[0] for row in re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)} == options
