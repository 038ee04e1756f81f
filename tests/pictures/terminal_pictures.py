"""Pictures of a terminal in docs/pictures: commands, run on the files there, and their output."""

from __future__ import annotations

import collections
import contextlib
import io
import os
import pathlib
import shlex
from typing import Final
from unittest import mock
from xml.etree import ElementTree

from rich import console, text

from policysched.cli import main

FOLDER: Final = pathlib.Path(__file__).resolve().parents[2] / "docs" / "pictures"
COMMANDS: Final = {
    "explain": "policysched explain prod/web-3 --cluster cluster.yaml --policies web.policy"
    " --metrics metrics.yaml",
    "plan": "policysched plan --from web.policy --to next.policy --cluster cluster.yaml"
    " --metrics metrics.yaml",
}
"""The command of each picture, by the name of its file."""
_COLUMNS: Final = 100
_ENVIRONMENT: Final = {"COLUMNS": str(_COLUMNS), "FORCE_COLOR": "1", "NO_COLOR": ""}
_PROMPT: Final = "\x1b[32m$\x1b[0m "
_CHARACTER_WIDTH: Final = 12.2
"""Of rich, in units of the picture."""
_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
}}
.{unique_id}-title {{ font-family: system-ui, sans-serif; font-size: 18px }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own form loads a font from the network; this one takes a font of the reader's machine."""


class _Terminal(io.StringIO):
    """A terminal that keeps all that is printed."""

    def isatty(self) -> bool:
        """Return True, so that commands fold and colour their output."""
        return True


def run(name: str) -> text.Text:
    """Return the command of a picture and its output, with colours."""
    command = COMMANDS[name]
    screen = _Terminal()
    with (
        contextlib.chdir(FOLDER),
        mock.patch.dict(os.environ, _ENVIRONMENT),
        contextlib.redirect_stdout(screen),
    ):
        main.main(shlex.split(command)[1:])
    return text.Text.from_ansi(f"{_PROMPT}{command}\n{screen.getvalue()}")


def draw(name: str) -> str:
    """Return the picture of a command as SVG."""
    recorder = console.Console(record=True, width=_COLUMNS, file=io.StringIO(), highlight=False)
    recorder.print(run(name), soft_wrap=True)
    return recorder.export_svg(title=f"policysched {name}", code_format=_SVG, unique_id=name)


def read_lines(svg: str) -> list[str]:
    """Return the lines of text in a picture, without its title."""
    lines: dict[float, list[tuple[float, str]]] = collections.defaultdict(list)
    [matrix] = ElementTree.fromstring(svg).iterfind(".//{*}g[@class]")  # noqa: S314 - our own file
    for part in matrix:
        lines[float(part.attrib["y"])].append((float(part.attrib["x"]), part.text or ""))
    return "\n".join(_join(parts) for _, parts in sorted(lines.items())).rstrip().splitlines()


def _join(parts: list[tuple[float, str]]) -> str:
    """Return a line from its parts with their places, which leave out blanks."""
    line = ""
    for place, part in sorted(parts):
        line = line.ljust(round(place / _CHARACTER_WIDTH)) + part.replace("\xa0", " ")
    return line.rstrip()
