"""docs/language.md is executed: its examples check, its errors appear exactly as shown."""

from __future__ import annotations

import datetime
import pathlib
import re
from typing import NamedTuple

import pytest

from policysched.lang import source, text_limits
from policysched.lang.checking import checker, unsupported
from policysched.lang.diagnostics import diagnostics, rendering
from policysched.lang.words import syntax_words, vocabulary

DOCS = pathlib.Path(__file__).parents[2] / "docs"
NOW_SECONDS = datetime.datetime(2026, 1, 5, tzinfo=datetime.UTC).timestamp()
"""The time at which rules of the examples have expired or not."""
_BLOCK = re.compile(r"^```(.*)\n((?:(?!```).*\n)*)```$", re.MULTILINE)


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


EXAMPLES = [*examples("language.md"), *examples("diagnostics.md"), *examples("metrics.md")]
LANGUAGE = (DOCS / "language.md").read_text(encoding="utf-8")
DIAGNOSTICS = (DOCS / "diagnostics.md").read_text(encoding="utf-8")


def _of(tag: str) -> list[pytest.ParameterSet]:
    return [pytest.param(each, id=each.name) for each in EXAMPLES if each.tag == tag]


@pytest.mark.parametrize("example", _of("policy"))
def test_an_example_is_free_of_errors(example: Example) -> None:
    """What the pages show as policies can be used as it stands."""
    text = source.SourceText("example.policy", example.text)
    result = checker.check([text])
    assert [rendering.render_diagnostic(each, result.texts) for each in result.diagnostics] == []


@pytest.mark.parametrize("example", _of("policy refused"))
def test_an_error_is_shown_as_it_appears(example: Example) -> None:
    """The diagnostics on the pages are those of the checker, to the letter."""
    text = source.SourceText("example.policy", example.text)
    result = checker.check([text], now=NOW_SECONDS)
    shown = "\n\n".join(
        rendering.render_diagnostic(each, result.texts) for each in result.diagnostics
    )
    assert shown + "\n" == example.shown


def test_there_are_examples_of_each_kind() -> None:
    """The tests above do not pass by finding nothing."""
    tags = {example.tag for example in EXAMPLES}
    assert tags == {"policy", "policy refused"}


@pytest.mark.parametrize("code", diagnostics.CODES)
def test_every_code_has_a_section_with_an_example_that_raises_it(code: str) -> None:
    """diagnostics.md has for each code its sentence and a text that is refused by it."""
    sections = re.split(r"^## ", DIAGNOSTICS, flags=re.MULTILINE)
    section = next((each for each in sections if each.startswith(f"{code}: ")), "")
    assert section.startswith(f"{code}: {diagnostics.CODES[code]}\n")
    assert re.search(rf"^(error|warning)\[{code}\]: ", section, re.MULTILINE) or code == "PS004"


def test_what_is_not_supported_is_listed() -> None:
    """The table in language.md is that of the checker."""
    rows = re.findall(
        r"^\| `([^`]+)` \| ([^|]+) \|$", LANGUAGE.split("## Not yet")[1], re.MULTILINE
    )
    assert dict(rows) == unsupported.UNSUPPORTED


def test_the_limits_are_those_of_the_checker() -> None:
    """The table of limits holds the values of the code, in its order."""
    table = LANGUAGE.split("## Limits")[1]
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
    fields = {name for table in vocabulary.FIELDS.values() for name in table}
    return {
        *(fields - vocabulary.CLUSTER_FIELDS.keys()),
        *vocabulary.SELECTOR_FUNCTIONS,
        *vocabulary.FUNCTIONS,
        *vocabulary.EXPRESSION_FIELDS,
        *vocabulary.STRATEGIES,
        *vocabulary.NORMALIZATIONS,
        *vocabulary.PARAM_TYPES,
        *vocabulary.TAINT_EFFECTS,
        *vocabulary.WHEN_UNSATISFIABLE,
        *vocabulary.NODE_INCLUSION,
        *vocabulary.RESERVED_NAMES,
        *(word for words in syntax_words.KEYWORDS.values() for word in words),
    }


@pytest.mark.parametrize("word", sorted(_vocabulary() - {"condition"}))
def test_every_word_of_the_language_is_in_the_specification(word: str) -> None:
    """No word works that the specification does not name."""
    assert re.search(rf"\b{re.escape(word)}\b", LANGUAGE)
