from __future__ import annotations

import re

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.plugins import registry
from tests import page_examples
from tests.pictures import terminal_pictures

PICTURES = {file.stem: file for file in sorted(terminal_pictures.FOLDER.glob("*.svg"))}
README = (terminal_pictures.FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")
POLICY = (terminal_pictures.FOLDER / "web.policy").read_text(encoding="utf-8")
_MOST_LINES = 30
each_picture = pytest.mark.parametrize("name", PICTURES)


def test_every_command_has_a_picture() -> None:
    """And every picture a command."""
    assert sorted(PICTURES) == sorted(terminal_pictures.COMMANDS)


@each_picture
def test_a_picture_shows_what_its_command_prints(name: str) -> None:
    """`make pictures` draws the pictures again."""
    printed = [line.rstrip() for line in terminal_pictures.run(name).plain.rstrip().splitlines()]
    assert terminal_pictures.read_lines(PICTURES[name].read_text(encoding="utf-8")) == printed
    assert printed[0] == f"$ {terminal_pictures.COMMANDS[name]}"


@each_picture
def test_a_picture_loads_nothing(name: str) -> None:
    """No font and no image comes from the network; ids are those of the file."""
    svg = PICTURES[name].read_text(encoding="utf-8")
    assert set(re.findall(r"\w+://[^\"']*", svg)) == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"url\((.)", svg)) == {"#"}
    assert "@" not in svg


@each_picture
def test_a_picture_fits_on_a_screen(name: str) -> None:
    """Short, and on the front page with a text for readers who do not see it."""
    svg = PICTURES[name].read_text(encoding="utf-8")
    assert len(terminal_pictures.read_lines(svg)) <= _MOST_LINES
    assert re.search(rf"!\[[^\]]{{20,}}\]\(docs/pictures/{name}\.svg\)", README)


def test_the_readme_shows_the_policy_of_the_pictures() -> None:
    """Whole; the other policy of the pictures has one other number."""
    blocks = page_examples.parse_blocks(README)
    assert [block.body for block in blocks if block.file == "web.policy"] == [POLICY]
    edited = (terminal_pictures.FOLDER / "next.policy").read_text(encoding="utf-8")
    assert edited == POLICY.replace("> 80%", "> 50%") != POLICY


def test_the_policy_is_sound() -> None:
    """The checker has no finding."""
    names = registry.create_built_in_registry().list_plugin_names()
    result = checker.check([source.SourceText("web.policy", POLICY)], plugins=names)
    assert (result.diagnostics, result.program is None) == ((), False)
