"""Pages of the documentation have one form: the reader is named first, long pages list contents."""

from __future__ import annotations

import pathlib

import pytest

from tests.repository import doc_pages

LONGEST_WITHOUT_CONTENTS = 200
FIRST_PARAGRAPH_LINES = 2
LINE_CHARACTERS = 120

_NAMES = {page.relative_to(doc_pages.CHECKOUT).as_posix(): page for page in doc_pages.MAIN_PAGES}


def _find_form_errors(page: pathlib.Path) -> list[str]:
    """Return the violations of the form of a page."""
    errors: list[str] = []
    first = doc_pages.read_first_paragraph(page)
    if not first or not first[0].startswith("For "):
        errors.append("the first paragraph does not begin with its readers: `For …`")
    if len(first) > FIRST_PARAGRAPH_LINES or max(map(len, first), default=0) > LINE_CHARACTERS:
        errors.append("the first paragraph is longer than two lines")
    contents, sections = doc_pages.list_contents(page), doc_pages.list_sections(page)
    lines = len(page.read_text(encoding="utf-8").splitlines())
    if (contents or lines > LONGEST_WITHOUT_CONTENTS) and contents != sections:
        errors.append(f"the contents list {contents} is not that of the sections {sections}")
    return errors


@pytest.mark.parametrize("name", sorted(_NAMES))
def test_a_page_names_its_readers_and_lists_its_sections(name: str) -> None:
    """Two lines say for whom it is; a contents list has each `##` heading, in order."""
    assert _find_form_errors(_NAMES[name]) == []


@pytest.mark.parametrize(
    "text, errors",
    [
        pytest.param("# A\n\nFor readers.\n\n## B\n\n## C\n", 0, id="short"),
        pytest.param("# A\n\nText.\n", 1, id="no-reader"),
        pytest.param("# A\n\nFor the\nthree\nlines.\n", 1, id="three-lines"),
        pytest.param(f"# A\n\nFor {'x' * 120}\n", 1, id="long-line"),
        pytest.param("# A\n\nFor x.\n\n- [B](#b)\n- [C](#c)\n\n## B\n\n## C\n", 0, id="contents"),
        pytest.param("# A\n\nFor x.\n\n- [C](#c)\n- [B](#b)\n\n## B\n\n## C\n", 1, id="order"),
        pytest.param("# A\n\nFor x.\n\n- [B](#b)\n\n## B\n\n## C\n", 1, id="left-out"),
        pytest.param("# A\n\nFor x.\n\n## B\n" + "\n" * 200, 1, id="long-page"),
        pytest.param("# A\n\nFor x.\n\n- [B](#b)\n\n## B\n" + "\n" * 200, 0, id="long-listed"),
    ],
)
def test_violations_are_found(text: str, errors: int, tmp_path: pathlib.Path) -> None:
    """Each of these pages violates the form as often as stated."""
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert len(_find_form_errors(page)) == errors
