"""The pages of the documentation: their headings, and the anchors and links between them."""

from __future__ import annotations

import collections
import functools
import pathlib
import re
from typing import Final, NamedTuple

from tests import page_examples

CHECKOUT: Final = pathlib.Path(__file__).resolve().parents[2]
MAIN_PAGES: Final = (
    *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "deploy/README.md")),
    CHECKOUT / "docs" / "decisions" / "README.md",
    *sorted((CHECKOUT / "docs").glob("*.md")),
)
"""The pages that a reader opens first; lint rules and decision records have forms of their own."""
ALL_PAGES: Final = tuple(sorted({*MAIN_PAGES, *(CHECKOUT / "docs").rglob("*.md")}))

_HEADING: Final = re.compile(r"^(#{1,6}) (.+?) *#*$", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_NO_ANCHOR: Final = re.compile(r"[^\w\- ]")
_CONTENTS_ITEM: Final = re.compile(r"^(?:[-*]|\d+\.) \[[^\]]+\]\(#([^)]+)\)", re.MULTILINE)


class Heading(NamedTuple):
    """A heading of a page: its level (1 is the title), its text, and its anchor."""

    level: int
    text: str
    anchor: str


@functools.cache
def read_prose(page: pathlib.Path) -> str:
    """Return the text of a page without its fenced blocks."""
    return page_examples.remove_blocks(page.read_text(encoding="utf-8"))


def make_anchor(title: str) -> str:
    """Return the anchor that GitHub gives a heading, the first of this title on its page."""
    return _NO_ANCHOR.sub("", _LINK.sub(r"\1", title).lower()).replace(" ", "-")


@functools.cache
def list_headings(page: pathlib.Path) -> tuple[Heading, ...]:
    """Return the headings of a page, with the anchors that GitHub gives them."""
    seen: collections.Counter[str] = collections.Counter()
    headings: list[Heading] = []
    for marks, text in _HEADING.findall(read_prose(page)):
        slug = make_anchor(text)
        anchor = f"{slug}-{seen[slug]}" if seen[slug] else slug
        seen[slug] += 1
        headings.append(Heading(len(marks), text, anchor))
    return tuple(headings)


def list_sections(page: pathlib.Path) -> list[str]:
    """Return the anchors of the `##` headings, except one above the contents list."""
    sections = [one for one in list_headings(page) if one.level == 2]
    return [one.anchor for one in sections if one.anchor != "contents"]


def list_contents(page: pathlib.Path) -> list[str]:
    """Return the anchors of the contents list, which is above the first section."""
    head = re.split(r"^## (?!Contents$)", read_prose(page), maxsplit=1, flags=re.MULTILINE)[0]
    return _CONTENTS_ITEM.findall(head)


def read_first_paragraph(page: pathlib.Path) -> list[str]:
    """Return the lines of the first paragraph after the title."""
    title, _, rest = read_prose(page).partition("\n")
    assert title.startswith("# "), f"{page} begins with its title"
    return rest.lstrip("\n").split("\n\n")[0].splitlines()
