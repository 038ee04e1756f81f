"""docs/devices.md does what it shows."""

from __future__ import annotations

from tests import page_examples

PAGE = page_examples.DOCS / "devices.md"


def test_commands_print_what_the_page_shows() -> None:
    """Each command, run beside the files of the page, prints the output of the page."""
    consoles = [block for block in page_examples.read_blocks(PAGE) if block.kind == "console"]
    assert consoles
    with page_examples.workspace(PAGE):
        for console in consoles:
            assert page_examples.run(console) == console.body
