"""docs/import.md does what it shows."""

from __future__ import annotations

import pathlib
import shlex

import pytest

from policysched import errors
from policysched.cli import main
from policysched.cli.commands import import_
from policysched.importing import source_detection
from policysched.importing.facts import legacy_policy_facts, plugin_facts
from tests import page_examples

PAGE = page_examples.DOCS / "import.md"
TEXT = PAGE.read_text(encoding="utf-8")
CONSOLES = [each.body for each in page_examples.read_blocks(PAGE) if each.kind == "console"]


@pytest.mark.parametrize("console", CONSOLES, ids=lambda text: text.partition("\n")[0][-12:])
def test_commands_print_what_the_page_shows(
    console: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each import, run beside the files of the page, prints the policy below it."""
    command, _, expected = console.partition("\n")
    with page_examples.workspace(PAGE):
        exit_code = main.main(shlex.split(command.removeprefix("$ policysched ")))
        said = capsys.readouterr()
        assert said.out == expected
        assert (exit_code == errors.EXIT_FINDINGS) == (": warning: " in said.err)
        pathlib.Path("shown.policy").write_text(said.out)
        assert main.main(["check", "shown.policy"]) == errors.EXIT_OK


def test_the_page_names_everything_that_is_known() -> None:
    """Predicates, priorities and versions; the command offers all kinds."""
    known = {
        *legacy_policy_facts.PREDICATES,
        *legacy_policy_facts.PRIORITIES,
        *legacy_policy_facts.STRATEGIES,
    }
    known |= {
        *legacy_policy_facts.SELECTOR_SPREAD,
        *legacy_policy_facts.GONE_PRIORITIES,
        legacy_policy_facts.CONSTANT,
    }
    assert [name for name in sorted(known) if f"`{name}`" not in TEXT] == []
    assert [version for version in plugin_facts.VERSIONS if version not in TEXT] == []
    assert import_.KINDS == source_detection.KINDS
