"""docs/commands.md does what it shows."""

from __future__ import annotations

import pytest

from policysched.config import config, config_reading
from tests import page_examples

PAGE = page_examples.DOCS / "commands.md"
BLOCKS = page_examples.read_blocks(PAGE)
CONSOLES = [block for block in BLOCKS if block.kind == "console"]


@pytest.mark.parametrize("console", CONSOLES, ids=lambda block: block.body.split(" ")[2])
def test_commands_print_what_the_page_shows(console: page_examples.Block) -> None:
    """Each command, run beside the files of the page, prints the output of the page."""
    with page_examples.workspace(PAGE):
        assert page_examples.run(console) == console.body


def test_the_configuration_of_the_page_is_one() -> None:
    """It fits the schema, and its times and limits are the defaults."""
    (text,) = [block.body for block in BLOCKS if block.file == "config.yaml"]
    found = config_reading.parse_config(text, "config.yaml")
    default = config.Config(params=found.params, profiles=found.profiles)
    assert (found, len(found.profiles)) == (default, 1)
