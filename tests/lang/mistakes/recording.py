"""Write what is said of each mistake into its file, for a reviewer to read in the difference."""

from __future__ import annotations

import itertools
import json
import pathlib
import re
from typing import Any

import yaml

from tests.lang import mistakes

_ENTRY = re.compile(r"^(?=- )", re.MULTILINE)
_RECORDED = re.compile(r"^  (?:says|leads):.*(?:\n    .*)*\n?", re.MULTILINE)


def record() -> None:
    """Write `says` and `leads` of all mistakes anew."""
    groups = itertools.groupby(mistakes.load_mistakes(), key=lambda each: each.origin)
    for origin, members in groups:
        path = mistakes.FOLDER / f"{origin}.yaml"
        _record_file(path, list(members))


def _record_file(path: pathlib.Path, members: list[mistakes.Mistake]) -> None:
    entries = _ENTRY.split(path.read_text(encoding="utf-8"))[1:]
    written = [_recorded(entry, each) for entry, each in zip(entries, members, strict=True)]
    path.write_text("".join(written), encoding="utf-8")


def _recorded(entry: str, mistake: mistakes.Mistake) -> str:
    kept = _RECORDED.sub("", entry).rstrip("\n")
    lines = [kept, "  says:", *(f"    - {_quoted(each)}" for each in mistakes.says(mistake))]
    if not mistakes.leads_to_meaning(mistake):
        lines.append("  leads: false")
    text = "\n".join(lines) + "\n"
    is_same: list[dict[str, Any]] = yaml.safe_load(text)
    if is_same[0]["means"] != yaml.safe_load(entry)[0]["means"]:
        raise ValueError(f"{mistake.name} cannot be recorded")
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable())
