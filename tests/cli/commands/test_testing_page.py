from __future__ import annotations

from policysched.policytests import expectations
from tests import page_examples

PAGE = page_examples.DOCS / "testing.md"


def test_commands_print_what_the_page_shows() -> None:
    """Run in the order of the page, beside its files."""
    consoles = [each for each in page_examples.read_blocks(PAGE) if each.kind == "console"]
    with page_examples.workspace(PAGE):
        assert [page_examples.run(each) for each in consoles] == [each.body for each in consoles]
    assert len(consoles) > 4


def test_the_page_has_every_expectation() -> None:
    """As a row of its table."""
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name in expectations._COMPARISONS if f"\n| `{name}` | " not in page]
    assert missing == []
