from __future__ import annotations

import re

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.plugins import registry
from tests import page_examples
from tests.policies import shipped

PAGE = page_examples.DOCS / "cookbook.md"
BLOCKS = page_examples.read_blocks(PAGE)
OPENB_BLOCKS = page_examples.read_blocks(page_examples.DOCS / "openb.md")
_STATEMENTS_IN = {
    "policy": "metric cpu_busy: ratio = `x` node instance\npolicy recipe {{ for pods\n{}\n}}\n",
    "profile": "profile recipe {{\n{}\n}}\n",
    "clusterPolicy": "clusterPolicy recipe {{ for resources\nscore free(cpu) prefer high\n{}\n}}\n",
}
"""The smallest text around a statement of the table of recipes, by its second column."""


def _recipe_rows() -> list[list[str]]:
    """Return the cells of the rows of the table of recipes."""
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("\n### 2. ")[2].partition("\n### ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[1:]]


@pytest.mark.parametrize(
    "block",
    [pytest.param(b, id=b.body.splitlines()[0][2:70]) for b in BLOCKS if b.kind == "console"],
)
def test_commands_print_what_the_page_says(block: page_examples.Block) -> None:
    """Every command of the page runs, and prints what the page shows."""
    with page_examples.workspace(PAGE):
        assert page_examples.run(block) == block.body


@pytest.mark.parametrize(
    "block", [pytest.param(b, id=b.file) for b in [*BLOCKS, *OPENB_BLOCKS] if b.is_quotation]
)
def test_quotations_are_what_the_policy_says(block: page_examples.Block) -> None:
    """Lines of a shipped policy stand there in one piece."""
    text = (shipped.FOLDER / block.file).read_text(encoding="utf-8")
    assert block.body in text


@pytest.mark.parametrize(
    "block",
    [pytest.param(b, id=b.file) for b in BLOCKS if b.kind == "policy" and not b.is_quotation],
)
def test_policies_of_the_page_are_sound(block: page_examples.Block) -> None:
    """What the page shows to be written can be written."""
    sources = [source.SourceText(block.file, block.body)]
    assert (
        checker.check(
            sources, plugins=registry.create_built_in_registry().list_plugin_names()
        ).diagnostics
        == ()
    )


def test_every_shipped_policy_has_a_section() -> None:
    """The page walks through all of them."""
    page = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"^## .*`([\w-]+)\.policy`$", page, flags=re.MULTILINE))
    assert named == {file.stem for file in shipped.FILES}


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    """No example escapes by a misspelt info string."""
    assert {block.kind for block in BLOCKS} <= {"console", "policy", "yaml", "sh"}


@pytest.mark.parametrize("row", [pytest.param(row, id=row[0]) for row in _recipe_rows()])
def test_a_recipe_is_valid_where_the_table_puts_it(row: list[str]) -> None:
    """The checker accepts each statement of the table in the text that the second column names."""
    _, place, statement, _ = row
    text = _STATEMENTS_IN[place].format(statement.strip("`"))
    result = checker.check(
        [source.SourceText("recipe.policy", text)],
        plugins=registry.create_built_in_registry().list_plugin_names(),
    )
    assert result.diagnostics == ()


def test_the_table_has_recipes_for_policies_profiles_and_clusters() -> None:
    """The test above does not pass by finding no row."""
    assert {place for _, place, *_ in _recipe_rows()} == _STATEMENTS_IN.keys()
