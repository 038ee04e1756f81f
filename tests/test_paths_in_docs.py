"""Every module that the documentation names is there."""

from __future__ import annotations

import pathlib
import re

import pytest

CHECKOUT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((CHECKOUT / "docs").rglob("*.md")),
    *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md")),
]
_MODULE = re.compile(r"`((?:[a-z_][a-z0-9_]*/)+[a-z_][a-z0-9_]*\.py)(?:::\w+)?`")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_modules_and_links_exist(page: pathlib.Path) -> None:
    """A path is relative to the checkout or to the package, a link to the page."""
    text = page.read_text("utf-8")
    roots = (CHECKOUT, CHECKOUT / "policysched")
    modules = [] if page.name == "moved.md" else _MODULE.findall(text)
    missing = [m for m in modules if not any((root / m).exists() for root in roots)]
    missing += [link for link in _LINK.findall(text) if not (page.parent / link).exists()]
    assert not missing
