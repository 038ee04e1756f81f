"""Counts turns of phrase that make English read like a translation, in texts of the project.

A pattern is a hint, not an error: `what` in a question is fine. So a number for many words counts,
not a single place.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import re
import tokenize
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable, Iterator

PATTERNS: Final = {
    "`what` for a noun": r"\bwhat\b(?!\s*\?)(?! is policysched)",
    "`where` for `if`": r"\bwhere\b",
    "code that tells or says": r"\b(?:tell|tells|told|telling|said)\b",
    "nobody, somebody, whoever": r"\b(?:nobody|somebody|anybody|whoever|nothing else)\b",
    "of which": r"\b(?:of which|in which|from which|of whose)\b",
    "is no": r"\bis no\b",
    "so long, as far as": r"\b(?:so long|as far as|as many as there)\b",
    "stands, lies, goes by": r"\b(?:stands?|lies|goes by|comes of|stood)\b",
    "another one, than that": r"\b(?:another one|other ones|than that)\b",
    "is had, let it be": r"\b(?:is had|are had|let (?:what|who|it be))\b",
}
_COMPILED: Final = {name: re.compile(text, re.IGNORECASE) for name, text in PATTERNS.items()}
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]*")
_NO_PROSE: Final = re.compile(r"```.*?```|`[^`\n]*`|<[^>]+>|\]\([^)]*\)", re.DOTALL)
_CONTEXT: Final = 40


@dataclasses.dataclass
class Count:
    """Words, and the places of hits: `file:line: pattern: …text…`."""

    words: int = 0
    places: list[str] = dataclasses.field(default_factory=list)

    @property
    def per_thousand(self) -> float:
        """Hits per 1,000 words."""
        return 1000 * len(self.places) / max(self.words, 1)


def count(files: Iterable[pathlib.Path], root: pathlib.Path) -> Count:
    """Count in Python files, policies (their comments) and Markdown."""
    found = Count()
    for path in files:
        for line, text in _read_texts(path):
            found.words += len(_WORD.findall(text))
            for name, pattern in _COMPILED.items():
                for match in pattern.finditer(text):
                    around = text[max(0, match.start() - _CONTEXT) : match.end() + _CONTEXT]
                    place = f"{path.relative_to(root)}:{line}"
                    found.places.append(f"{place}: {name}: …{' '.join(around.split())}…")
    return found


def _read_texts(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield texts with the lines on which they begin."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _read_python_texts(source)
        return
    if path.suffix == ".policy":
        source = "\n".join(line for line in source.splitlines() if line.startswith("#"))
    yield 1, _NO_PROSE.sub(" ", source)


def _read_python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments, docstrings, and other strings that contain a blank."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)) if " " in text.strip():
                yield node.lineno, text
            case _:
                pass
