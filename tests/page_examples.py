"""The examples of a page: fenced blocks, and commands run beside the files that the page shows.

Fenced blocks by their info string:

    LANGUAGE NAME       a file
    policy from FILE    lines of a shipped policy, word for word
    console             commands (`$ policysched ...`), each followed by its output

`python -m tests.page_examples PAGE...` writes the present outputs into pages.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from typing import Final, NamedTuple

from policysched import _resources
from policysched.cli import main

DOCS: Final = pathlib.Path(__file__).resolve().parents[1] / "docs"
_FENCED: Final = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_PROMPT: Final = "$ "


class Block(NamedTuple):
    """A fenced block: its info string, and its text without the indentation of the fence."""

    info: str
    body: str

    @property
    def kind(self) -> str:
        """The first word of the info string; "" for none."""
        return self.info.partition(" ")[0]

    @property
    def file(self) -> str:
        """The last word of several, which is the name of a file in blocks with one."""
        return self.info.split()[-1] if " " in self.info else ""

    @property
    def is_quotation(self) -> bool:
        """Whether it repeats lines of a shipped policy."""
        return self.info.startswith("policy from ")

    @property
    def is_file(self) -> bool:
        """Whether commands of the page read it."""
        return "." in self.file and not self.is_quotation


def parse_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a text, in order."""
    return [
        Block(info, re.sub(f"^{indent}", "", body, flags=re.MULTILINE))
        for indent, info, body in _FENCED.findall(text)
    ]


def read_blocks(page: pathlib.Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return parse_blocks(page.read_text(encoding="utf-8"))


def remove_blocks(text: str) -> str:
    """Return a text without its fenced blocks."""
    return _FENCED.sub("", text)


@contextlib.contextmanager
def workspace(page: pathlib.Path) -> Iterator[None]:
    """Work in a folder that has the shipped policies and the files of a page."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pathlib.Path("policies").symlink_to(_resources.find_resource_folder("policies"))
        for block in read_blocks(page):
            if block.is_file:
                pathlib.Path(block.file).write_text(block.body, encoding="utf-8")
        yield


def run(block: Block) -> str:
    """Return a console block with the present output of its commands; call it in `workspace`."""
    commands = [line for line in block.body.splitlines() if line.startswith(_PROMPT)]
    return "".join(f"{line}\n{_run_command(line.removeprefix(_PROMPT))}" for line in commands)


def _run_command(command: str) -> str:
    """Return what a command prints to either output, and its exit code if that is not 0."""
    program, *argv = shlex.split(command)
    assert program == "policysched", command
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main.main(argv)
    lines = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
    return lines if code == 0 else f"{lines}(exit {code})\n"


def update(page: pathlib.Path) -> None:
    """Write the present outputs into a page."""
    text = page.read_text(encoding="utf-8")
    with workspace(page):
        for block in read_blocks(page):
            if block.kind == "console":
                text = text.replace(f"```console\n{block.body}```", f"```console\n{run(block)}```")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        update(pathlib.Path(name))
