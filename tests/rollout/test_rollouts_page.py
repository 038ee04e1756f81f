"""docs/rollouts.md says what is so."""

from __future__ import annotations

import typing

from policysched.config import config_reading
from policysched.rollout import settings
from tests import page_examples

PAGE = page_examples.DOCS / "rollouts.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_commands_print_what_the_page_shows() -> None:
    """Run in the order of the page, beside its files."""
    consoles = [each for each in page_examples.read_blocks(PAGE) if each.kind == "console"]
    with page_examples.workspace(PAGE):
        assert [page_examples.run(each) for each in consoles] == [each.body for each in consoles]
    assert len(consoles) == 3


def test_the_page_has_every_measure() -> None:
    """As a row of its table, which also says whether shadow stages have it."""
    for measure in typing.get_args(settings.Measure):
        (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{measure}` |")]
        assert row.endswith("| yes |" if measure in settings.SHADOW_MEASURES else "| no |")


def test_the_key_of_the_config_map_is_named() -> None:
    """It has the fields of `policies.rollout`."""
    assert f"The key `{config_reading.ROLLOUT_KEY}` of the policies' ConfigMap" in TEXT
