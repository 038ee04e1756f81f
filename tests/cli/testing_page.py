"""The examples of docs/testing.md: files by name, and commands with what they print.

`python -m tests.cli.testing_page` writes what the commands print now into the page.
"""

from __future__ import annotations

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator

from tests.policies import cookbook

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "testing.md"


@contextlib.contextmanager
def workspace() -> Iterator[None]:
    """Work in a folder that has the files of the page."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in cookbook.blocks(PAGE):
            if block.kind in ("yaml", "policy"):
                pathlib.Path(block.file).write_text(block.body, encoding="utf-8")
        yield


def update() -> None:
    """Write what the commands print now into the page."""
    text = PAGE.read_text(encoding="utf-8")
    with workspace():
        for block in cookbook.blocks(PAGE):
            if block.kind == "console":
                before = f"```{block.info}\n{block.body}```"
                text = text.replace(before, f"```{block.info}\n{cookbook.run(block)}```")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    update()
