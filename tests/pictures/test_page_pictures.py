from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.pictures import page_pictures

ROOT = page_pictures.FOLDER.parents[1]
PICTURES = sorted(page_pictures.FOLDER.glob("page-*.png"))
_MOST_PICTURES = 12
_MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def demo() -> Iterator[page_pictures.DemoWindow]:
    """The demo in a browser."""
    with page_pictures.open_demo() as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("name", page_pictures.VIEWS)
def test_a_picture_of_the_page_is_not_stale(demo: page_pictures.DemoWindow, name: str) -> None:
    """Its text is that of the view; pixels depend on the fonts of the machine."""
    drawn = (page_pictures.FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    with demo.show(name) as page:
        assert page_pictures.read_text(page) == drawn, "run `make pictures`"


def test_every_view_has_its_files() -> None:
    """And every file a view."""
    texts = sorted(page_pictures.FOLDER.glob("page-*.txt"))
    assert [each.stem for each in PICTURES] == sorted(page_pictures.VIEWS)
    assert [each.stem for each in texts] == sorted(page_pictures.VIEWS)


def test_every_picture_is_on_a_page_and_has_a_text_for_readers_who_do_not_see_it() -> None:
    """On the front page, or on that of the page in the browser."""
    pages = "".join(
        (ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/page.md")
    )
    shown = re.findall(r"!\[[^\]]{20,}\]\((?:docs/)?pictures/(page-[a-z]+)\.png\)", pages)
    assert sorted(set(shown)) == sorted(page_pictures.VIEWS)


def test_pictures_are_few_and_small() -> None:
    """A checkout stays quick."""
    assert len(PICTURES) <= _MOST_PICTURES
    assert sum(each.stat().st_size for each in PICTURES) <= _MOST_BYTES
