"""Mistakes of people who know another language, with the text that each of them meant.

A file holds the mistakes of one origin. `rule` is a statement in the policy of `_FRAME`, `text` a
whole text; `means` is the same without the mistake, in the same form. `says` holds every diagnostic
of the written text as `CODE line:column help`. `leads` is false if the help does not lead to the
meaning.

A help is followed without judgement:

1. The edits of the fix are made, if there is one.
2. Else, if the help begins with "write `X`", X replaces the text under the diagnostic; if it begins
   with "remove it", this text is removed.
3. Else the next of the mistake's `edits` is made: it replaces a text on the line of the diagnostic
   by words that the help names between backticks.

This is repeated until no error is left. The result has to have the syntax tree of the meaning.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Any

import yaml

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax

FOLDER = pathlib.Path(__file__).parent
MAX_ROUNDS = 8
_FRAME = """\
metric cpu_busy: ratio = `x` node instance missing allow missing score 0
policy web {{
  for pods where app = web
  {rule}
}}
"""
_WRITE = re.compile(r"write `([^`…]+)`(?! or |, `)")
_WORD = re.compile(r"\w+")
_NAMED = re.compile(r"`([^`]+)`")


@dataclasses.dataclass(frozen=True, slots=True)
class Mistake:
    """A text with a mistake, and the text that was meant.

    Attributes:
        name: file and number.
        written: the policy text with the mistake.
        meant: the policy text without it.
        says: the diagnostics that are expected, as the function `says` returns them.
        edits: replacements that a help without fix names, in the order in which they are made.
        leads: whether following the help leads to the meaning.
    """

    name: str
    written: str
    meant: str
    says: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]
    leads: bool

    @property
    def origin(self) -> str:
        """The language of the author, the name of the file."""
        return self.name.rpartition("-")[0]


def load_mistakes() -> list[Mistake]:
    """Return the mistakes of all files."""
    return [
        _mistake(f"{path.stem}-{number}", entry)
        for path in sorted(FOLDER.glob("*.yaml"))
        for number, entry in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")), start=1)
    ]


def _mistake(name: str, entry: dict[str, Any]) -> Mistake:
    is_rule = "rule" in entry
    written, meant = entry["rule"] if is_rule else entry["text"], entry["means"]
    if is_rule:
        written, meant = _FRAME.format(rule=written), _FRAME.format(rule=meant)
    edits = tuple((old, new) for old, new in entry.get("edits", ()))
    return Mistake(
        name, written, meant, tuple(entry.get("says", ())), edits, entry.get("leads", True)
    )


def check(text: str) -> checker.CheckResult:
    """Check a text that stands alone."""
    return checker.check([source.SourceText("x.policy", text)])


def says(mistake: Mistake) -> tuple[str, ...]:
    """Return code, place and help of each diagnostic of the written text, a line each."""
    return tuple(
        f"{each.code} {each.span.line}:{each.span.column} {each.help}".rstrip()
        for each in check(mistake.written).diagnostics
    )


def read_items(text: str) -> tuple[syntax.Item, ...]:
    """Return the items of a text; their places take no part in comparisons."""
    return parser.parse_policy_text(source.SourceText("x.policy", text)).file.items


def leads_to_meaning(mistake: Mistake) -> bool:
    """Return whether following the help leads to the text that was meant."""
    text, edits = mistake.written, list(mistake.edits)
    for _ in range(MAX_ROUNDS):
        result = check(text)
        if result.program is not None:
            return read_items(text) == read_items(mistake.meant)
        finding = next(
            each for each in result.diagnostics if each.severity is diagnostics.Severity.ERROR
        )
        following = follow(text, finding, edits)
        if following is None or following == text:
            return False
        text = following
    return False


def follow(text: str, finding: diagnostics.Diagnostic, edits: list[tuple[str, str]]) -> str | None:
    """Return the text after doing what the help says; None if it names nothing to write."""
    span = finding.span
    if finding.fix is not None:
        return apply_fix(text, finding.fix)
    if write := _WRITE.match(finding.help):
        return text[: span.start] + write[1] + text[span.end :]
    if finding.help.startswith("remove it"):
        return text[: span.start] + text[span.end :]
    return _make_named_edit(text, finding, edits)


def apply_fix(text: str, fix: diagnostics.Fix) -> str:
    """Return the text with the edits of a fix made."""
    for edit in sorted(fix.edits, key=lambda each: each.span.start, reverse=True):
        text = text[: edit.span.start] + edit.replacement + text[edit.span.end :]
    return text


def _make_named_edit(
    text: str, finding: diagnostics.Diagnostic, edits: list[tuple[str, str]]
) -> str | None:
    if not edits:
        return None
    old, new = edits.pop(0)
    lines = text.split("\n")
    line = lines[finding.span.line - 1]
    named = " ".join(_NAMED.findall(finding.help))
    words = set(_WORD.findall(new)) - set(_WORD.findall(old))
    if not finding.help or old not in line or not all(word in named for word in words):
        return None
    lines[finding.span.line - 1] = line.replace(old, new, 1)
    return "\n".join(lines)
