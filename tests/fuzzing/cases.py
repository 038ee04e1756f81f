"""One input of the command line: arguments, the files that they name, and standard input."""

from __future__ import annotations

import base64
import dataclasses
import json
import pathlib
from collections.abc import Mapping
from typing import Any

from policysched.cli import main

_NESTED = (*("explain pod", "explain binding", "explain rule", "karmada simulate", "karmada run"),)


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """What one run of a command gets.

    Attributes:
        argv: the arguments, without the program.
        files: content by path, relative to the working directory.
        stdin: standard input.
    """

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    stdin: bytes = b""

    @property
    def command(self) -> str:
        """The subcommand, with the one below it; `other` if there is no such command."""
        name = " ".join(self.argv[:2])
        if name in _NESTED:
            return name
        name = next(iter(self.argv), "")
        return name if name in main._HELP else "other"

    def write(self, folder: pathlib.Path) -> None:
        """Write the files into a folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def as_json(self) -> str:
        """Return the case as it is kept in the repository."""
        fields: dict[str, Any] = {"argv": list(self.argv)}
        if self.files:
            fields["files"] = {name: _readable(content) for name, content in self.files.items()}
        if self.stdin:
            fields["stdin"] = _readable(self.stdin)
        return json.dumps(fields, indent=1, ensure_ascii=True) + "\n"


def from_json(text: str) -> Case:
    """Return a kept case."""
    fields = json.loads(text)
    files = {name: _content(kept) for name, kept in fields.get("files", {}).items()}
    return Case(tuple(fields["argv"]), files, _content(fields.get("stdin", "")))


def _readable(content: bytes) -> str | dict[str, str]:
    """Return text as text, and other bytes as base64."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _content(kept: str | dict[str, str]) -> bytes:
    return kept.encode("utf-8") if isinstance(kept, str) else base64.b64decode(kept["base64"])
