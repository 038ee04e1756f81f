r"""docs/tutorial.md as a reader follows it: its files and commands, in order, in one shell.

Fenced blocks by their info string:

    LANGUAGE NAME   a file, which the reader saves in the current folder
    console         commands (`$ make cluster`), each followed by its output; a line that ends in
                    `\` continues on the next one, and `...` in an output is any number of lines

`python -m tests.tutorial.tutorial_page` writes the present outputs into the page. It replaces only
outputs that differ, so shorten these again.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import tempfile
import time
from typing import TYPE_CHECKING, Final

from tests import page_examples
from tests.realcluster import cluster, process
from tests.tutorial import page_shell

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

CHECKOUT: Final = pathlib.Path(__file__).resolve().parents[2]
PAGE: Final = CHECKOUT / "docs" / "tutorial.md"
PATIENCE_SECONDS: Final = 120.0

_PORTS: Final = ("9090", "9100", "9153")
"""Ports of the page; each run uses free ones instead."""
_NOT_CLONED: Final = (".cluster", ".git", "tutorial")
_PROMPT: Final = "$ "
_STEP: Final = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_READING: Final = ("kubectl get ", "promtool query ")
"""Commands that change nothing, which a reader who is faster than the cluster repeats."""
_ANY_LINES: Final = "..."
_LOG_LINE: Final = re.compile(r"[IW]\d{4} [\d:.]+ +\d+ reflector\.go:\d+\] ")
"""A line by which kubectl logs that it watches again, because the API server ended its watch."""
_VOLATILE: Final = {
    r"https://127\.0\.0\.1:\d+": "https://127.0.0.1:PORT",
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+Z|\+00:00)": "TIME",
    r"@\[[\d.]+\]": "@[TIME]",
    r"\b(?:\d+m)?\d+s\b": "AGE",
    r"\bseconds=[\d.]+": "seconds=N",
    r"\s+": " ",  # columns, which have the width of the values above
}
"""Texts that differ between runs, and their replacements before the comparison."""


@dataclasses.dataclass(frozen=True)
class Step:
    """A command of the page with the lines of its output."""

    command: str
    output: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines of the page."""
        return "".join(f"{line}\n" for line in (_PROMPT + self.command, *self.output))

    @property
    def changes_nothing(self) -> bool:
        """Whether the command may be repeated."""
        return self.command.startswith(_READING)

    def matches(self, other: Step) -> bool:
        """Return whether another output is the one of the page, except for volatile texts."""
        pattern = "".join(
            r"(?:.*\n)*" if line == _ANY_LINES else re.escape(f"{_normalise(line)}\n")
            for line in self.output
        )
        lines = "".join(f"{_normalise(line)}\n" for line in other.output)
        return re.fullmatch(pattern, lines) is not None


def blocks() -> list[page_examples.Block]:
    """Return the fenced blocks of the page, in order."""
    return page_examples.read_blocks(PAGE)


def steps(block: page_examples.Block) -> list[Step]:
    """Return the commands of a console block."""
    return [Step(match[1], tuple(match[2].splitlines())) for match in _STEP.finditer(block.body)]


def drop_log_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines of an output without those of kubectl's own log."""
    return [line for line in lines if not _LOG_LINE.match(line)]


def follow(folder: pathlib.Path, patience_seconds: float) -> Generator[tuple[Step, Step]]:
    """Yield each command as the page shows it and as it is now.

    Args:
        folder: an empty folder, which becomes the reader's checkout.
        patience_seconds: how long to repeat commands that change nothing until they match.
    """
    for path in CHECKOUT.iterdir():
        if path.name not in _NOT_CLONED:
            (folder / path.name).symlink_to(path)
    ports = {port: str(process.free_port()) for port in _PORTS}
    try:
        with page_shell.Shell(folder) as shell:
            for block in blocks():
                if block.kind == "console":
                    for step in steps(block):
                        yield step, _run(shell, step, ports, patience_seconds)
                else:
                    _save(shell, block, ports)
    finally:
        cluster.down(folder / ".cluster")


def _save(shell: page_shell.Shell, block: page_examples.Block, ports: Mapping[str, str]) -> None:
    """Write a file of the page into the current folder of the shell."""
    body = _replace(block.body, ports)
    _, code = shell.run(f"cat > {block.file} << 'END OF FILE'\n{body}END OF FILE")
    assert code == 0


def _run(
    shell: page_shell.Shell, step: Step, ports: Mapping[str, str], patience_seconds: float
) -> Step:
    """Return a command with its present output, in the words and ports of the page."""
    back = {own: port for port, own in ports.items()}
    deadline = time.monotonic() + patience_seconds
    while True:
        lines, code = shell.run(_replace(step.command, ports))
        failure = [f"(exit {code})"] if code else []
        output = (*drop_log_lines(lines), *failure)
        present = Step(step.command, tuple(_replace(line, back) for line in output))
        if step.matches(present) or not step.changes_nothing or time.monotonic() > deadline:
            return present


def _replace(text: str, replacements: Mapping[str, str]) -> str:
    pattern = "|".join(replacements)
    return re.sub(rf"\b(?:{pattern})\b", lambda match: replacements[match[0]], text)


def _normalise(line: str) -> str:
    for pattern, replacement in _VOLATILE.items():
        line = re.sub(pattern, replacement, line)
    return line


def update() -> None:
    """Write the present outputs into the page."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = iter(list(follow(pathlib.Path(folder), patience_seconds=15.0)))
    text = PAGE.read_text(encoding="utf-8")
    for block in blocks():
        if block.kind == "console":
            parts = (
                (a if a.matches(b) else b).text
                for _, (a, b) in zip(steps(block), pairs, strict=False)
            )
            text = text.replace(f"```console\n{block.body}", f"```console\n{''.join(parts)}", 1)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    update()
