"""The English of code and documentation stays plain; CONTRIBUTING.md has the rules."""

from __future__ import annotations

import pathlib

from tests.repository import prose

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_PER_THOUSAND = 4.0

UNREVISED = ("policysched/framework/", "policysched/compiler/", "policysched/plugins/kernels/")
"""The engine, whose texts are rewritten together with its code."""
DOCUMENTS = ("*.md", "docs/**/*.md", "deploy/**/*.md", "policies/*.policy")


def _assert_plain(found: prose.Count) -> None:
    assert found.words > 10_000
    places = "\n".join(found.places)
    assert found.per_thousand <= LIMIT_PER_THOUSAND, f"{found.per_thousand:.1f}:\n{places}"


def test_texts_of_the_code_are_plain() -> None:
    """Docstrings, comments and messages, except those of the engine."""
    files = sorted((ROOT / "policysched").rglob("*.py"))
    paths = {file: str(file.relative_to(ROOT)) for file in files}
    _assert_plain(prose.count((f for f in files if not paths[f].startswith(UNREVISED)), ROOT))


def test_texts_of_benchmarks_are_plain() -> None:
    """Docstrings, comments, help texts and messages of `benchmarks/`, and of their tests."""
    folders = (ROOT / "benchmarks", ROOT / "tests" / "benchmarks")
    _assert_plain(prose.count((f for each in folders for f in sorted(each.rglob("*.py"))), ROOT))


def test_documents_are_plain() -> None:
    """README, changelog, pages of docs and deploy, and comments of the shipped policies."""
    _assert_plain(prose.count((f for form in DOCUMENTS for f in sorted(ROOT.glob(form))), ROOT))


def test_hits_are_counted(tmp_path: pathlib.Path) -> None:
    """Comments, docstrings and Markdown count; code in backticks does not."""
    module = tmp_path / "m.py"
    module.write_text('"""Tell what is wrong."""\nX = "where"  # nobody reads it\n')
    page = tmp_path / "p.md"
    page.write_text("`what` where\n```\nnobody\n```\n")
    assert [place.split(": ")[0] for place in prose.count([module, page], tmp_path).places] == [
        "m.py:2",
        "m.py:1",
        "m.py:1",
        "p.md:1",
    ]
