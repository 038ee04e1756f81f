"""Modules, pages and headings that the documentation names exist."""

from __future__ import annotations

import pathlib
import re

import pytest

from tests.repository import doc_pages

CHECKOUT = doc_pages.CHECKOUT
_MODULE = re.compile(r"`((?:[a-z_][a-z0-9_]*/)+[a-z_][a-z0-9_]*\.py)(?:::\w+)?`")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_MENTION = re.compile(r"\bdocs/([\w./-]+\.md)(?:#([\w-]+))?")
_FILES_WITH_MENTIONS = [
    file
    for folder, form in (("policysched", "*.py"), ("deploy", "*"), ("policies", "*.policy"))
    for file in sorted((CHECKOUT / folder).rglob(form))
    if file.is_file()
]


def _leads_to_heading(target: pathlib.Path, anchor: str) -> bool:
    """Return whether a link to a page, or to a heading of it, has its target."""
    if not target.exists():
        return False
    return not anchor or anchor in {one.anchor for one in doc_pages.list_headings(target)}


@pytest.mark.parametrize(
    "page", doc_pages.ALL_PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix()
)
def test_modules_and_links_exist(page: pathlib.Path) -> None:
    """A path is relative to the checkout or to the package, a link to the page."""
    text = page.read_text("utf-8")
    roots = (CHECKOUT, CHECKOUT / "policysched")
    modules = [] if page.name == "moved.md" else _MODULE.findall(text)
    missing = [m for m in modules if not any((root / m).exists() for root in roots)]
    for path, anchor in _LINK.findall(text):
        if not _leads_to_heading(page.parent / path if path else page, anchor):
            missing.append(f"{path}#{anchor}")
    assert not missing


def test_code_and_manifests_name_pages_and_headings_that_exist() -> None:
    """`docs/page.md#heading` in a comment or a message leads somewhere."""
    mentions = {
        (file.relative_to(CHECKOUT).as_posix(), path, anchor)
        for file in _FILES_WITH_MENTIONS
        for path, anchor in _MENTION.findall(file.read_text(encoding="utf-8"))
    }
    assert len(mentions) > 20
    docs = CHECKOUT / "docs"
    assert [one for one in sorted(mentions) if not _leads_to_heading(docs / one[1], one[2])] == []


@pytest.mark.parametrize(
    "path, anchor, exists",
    [
        pytest.param("page.md", "", True, id="page"),
        pytest.param("page.md", "kubernetes-own-tests", True, id="punctuation"),
        pytest.param("page.md", "run-1", True, id="second-of-a-name"),
        pytest.param("page.md", "comment", False, id="comment-in-a-block"),
        pytest.param("page.md", "runs", False, id="no-heading"),
        pytest.param("other.md", "", False, id="no-page"),
    ],
)
def test_targets_of_links(path: str, anchor: str, exists: bool, tmp_path: pathlib.Path) -> None:
    """Anchors are those of GitHub; a comment of a shell in a block has none."""
    text = "# Page\n\n## Kubernetes' own tests\n\n## `run`\n\n```sh\n# comment\n```\n\n### Run\n"
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    assert _leads_to_heading(tmp_path / path, anchor) is exists
