"""docs/tutorial.md does what it shows."""

from __future__ import annotations

import contextlib
import pathlib

import pytest

from tests.tutorial import tutorial_page


@pytest.mark.e2e
@pytest.mark.slow
def test_commands_print_what_the_page_shows(tmp_path: pathlib.Path) -> None:
    """A reader who follows the page from the first line to the last sees its outputs."""
    count = 0
    followed = tutorial_page.follow(tmp_path, tutorial_page.PATIENCE_SECONDS)
    with contextlib.closing(followed):
        for shown, present in followed:
            assert shown.matches(present), f"{shown.text}\nis now\n\n{present.text}"
            count += 1
    assert count > 40
    assert not (tmp_path / "tutorial").exists()


@pytest.mark.parametrize(
    "shown, present, is_same",
    [
        (["a"], ["a"], True),
        (["a"], ["b"], False),
        (["a"], ["a", "b"], False),
        (["a", "..."], ["a", "b", "c"], True),
        (["...", "c"], ["a", "b", "c"], True),
        (["...", "c"], ["c", "d"], False),
        (["node-0   Ready   2s"], ["node-0  Ready  1m40s"], True),
        (["node-0   Ready   2s"], ["node-1  Ready  2s"], False),
        ([], ["(exit 1)"], False),
    ],
)
def test_outputs_are_compared_without_volatile_texts(
    shown: list[str], present: list[str], *, is_same: bool
) -> None:
    """Ages and widths of columns differ between runs; `...` is any number of lines."""
    page = tutorial_page.Step("x", tuple(shown))
    assert page.matches(tutorial_page.Step("x", tuple(present))) is is_same


def test_only_the_log_of_kubectl_is_left_out_of_an_output() -> None:
    """An API server may end a watch; what kubectl prints as an error or a result stays."""
    log = 'I1129 11:19:46.652613   28500 reflector.go:664] "Warning: watch ended" err="x"'
    printed = ["pod/shop-d condition met", "error: timed out", "I1129 is a name"]
    assert tutorial_page.drop_log_lines([log, *printed]) == printed


def test_every_block_is_a_file_or_commands() -> None:
    """No example escapes by a misspelt info string, and no command by a missing prompt."""
    for block in tutorial_page.blocks():
        if block.kind == "console":
            assert "".join(step.text for step in tutorial_page.steps(block)) == block.body
        else:
            assert block.kind in ("policy", "text", "yaml")
            assert f"`{block.file}`" in tutorial_page.PAGE.read_text(encoding="utf-8")
