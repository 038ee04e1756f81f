"""The examples of docs/cookbook.md: run, and compared with what the page says.

Fenced blocks by their info string:

    yaml NAME.yaml        a file that later commands read
    policy from FILE      lines of a shipped policy, word for word
    policy NAME.policy    a file that later commands read; it has no findings
    console               commands (`$ policysched ...`), each followed by what it prints

`python -m tests.policies.cookbook` writes what the commands print now into the page.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pathlib
import re
import shlex
import tempfile
from collections.abc import Iterator

from policysched import _resources
from policysched.cli import main

OPENB_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "openb.md"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "cookbook.md"
_BLOCK = re.compile(r"^```(?P<info>[^\n`]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ "


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block; `info` says what it is."""

    info: str
    body: str

    @property
    def kind(self) -> str:
        """The first word."""
        return self.info.split()[0]

    @property
    def file(self) -> str:
        """The last word, where the block is a file or part of one."""
        return self.info.split()[-1]

    @property
    def is_quotation(self) -> bool:
        """Whether it repeats lines of a shipped policy."""
        return self.info.startswith("policy from ")


def blocks(page: pathlib.Path = PAGE) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [_block(match) for match in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


def _block(match: re.Match[str]) -> Block:
    return Block(match["info"], match["body"])


@contextlib.contextmanager
def workspace() -> Iterator[pathlib.Path]:
    """Work in a folder that has the shipped policies and the files of the page."""
    before = pathlib.Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "policies").symlink_to(_resources.find_resource_folder("policies"))
        for block in blocks():
            if block.kind in ("yaml", "policy") and not block.is_quotation:
                pathlib.Path(folder, block.file).write_text(block.body, encoding="utf-8")
        os.chdir(folder)
        try:
            yield pathlib.Path(folder)
        finally:
            os.chdir(before)


def run(block: Block) -> str:
    """Return a console block with what its commands print; call it inside `workspace`."""
    commands = [line for line in block.body.splitlines() if line.startswith(_PROMPT)]
    return "".join(f"{line}\n{_output(line.removeprefix(_PROMPT))}" for line in commands)


def _output(command: str) -> str:
    program, *argv = shlex.split(command)
    if program != "policysched":
        msg = f"`{program}` is not policysched"
        raise ValueError(msg)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main.main(argv)
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    said = "".join(f"{line}\n" for line in lines)
    return said if code == 0 else f"{said}(exit {code})\n"


def update() -> None:
    """Write what the commands print now into the page."""

    def rerun(match: re.Match[str]) -> str:
        block = _block(match)
        body = run(block) if block.kind == "console" else block.body
        return f"```{block.info}\n{body}```"

    with workspace():
        page = _BLOCK.sub(rerun, PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    update()
