"""Language tests written in the language.

A file holds chunks split by lines of `---`; each is checked by itself. A line that must have
diagnostics ends in `### "regex" …`: each regular expression is searched in `CODE message` of a
diagnostic that starts on this line. Diagnostics that no line expects fail the test, as do
expectations without a diagnostic.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics

_EXPECTATION = re.compile(r'### ("(?:[^"]*)"(?: "(?:[^"]*)")*)\s*$')


@dataclasses.dataclass(frozen=True, slots=True)
class Chunk:
    """One text of a file of cases."""

    name: str
    text: source.SourceText
    expected: tuple[tuple[int, str], ...]


def chunks(folder: pathlib.Path) -> list[Chunk]:
    """Return the chunks of all files in a folder; lines count from the start of their file."""
    found = []
    for path in sorted(folder.glob("*.policy")):
        first_line = 1
        for text in path.read_text(encoding="utf-8").split("\n---\n"):
            name = f"{path.stem}:{first_line}"
            found.append(Chunk(name, source.SourceText(path.name, text), _expected(text)))
            first_line += text.count("\n") + 2
    return found


def _expected(text: str) -> tuple[tuple[int, str], ...]:
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        match = _EXPECTATION.search(line)
        if match:
            found += [(number, pattern) for pattern in re.findall(r'"([^"]*)"', match.group(1))]
    return tuple(found)


def problems(chunk: Chunk, found: tuple[diagnostics.Diagnostic, ...]) -> list[str]:
    """Return what differs between expectation and result, as sentences."""
    left = list(found)
    problems = []
    for line, pattern in chunk.expected:
        match = next(
            (
                each
                for each in left
                if each.span.line == line and re.search(pattern, f"{each.code} {each.message}")
            ),
            None,
        )
        if match is None:
            problems.append(f"line {line}: expected {pattern}")
        else:
            left.remove(match)
    problems += [f"line {each.span.line}: unexpected {each.code} {each.message}" for each in left]
    return problems
