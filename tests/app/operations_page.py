"""The examples of docs/operations.md and of the reference pages behind it."""

from __future__ import annotations

import pathlib
import re
import textwrap
from typing import Final, NamedTuple

_DOCS: Final = pathlib.Path(__file__).resolve().parents[2] / "docs"
_NAMES: Final = (
    "operations",
    "replicas",
    "policy-versions",
    "rights",
    "secure-port",
    "coexistence",
    "sizing",
)
PAGES: Final = tuple(_DOCS / f"{name}.md" for name in _NAMES)
_FENCE: Final = re.compile(r"^( *)```(\w+) ?([\w.]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_SPAN: Final = re.compile(r"`(kubectl|policysched) ([^`]+)`")


class Block(NamedTuple):
    """A fenced block: its language, its name or "", its text without indentation."""

    language: str
    name: str
    text: str


def read_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [
        Block(language, name, textwrap.dedent(content))
        for _, language, name, content in _FENCE.findall(text)
    ]


def read_commands(text: str) -> list[str]:
    """Return commands in sentences and tables; a mention such as `kubectl apply` is none."""
    spans = (f"{program} {rest}" for program, rest in _SPAN.findall(_FENCE.sub("", text)))
    return [" ".join(span.split()) for span in spans if len(span.split()) >= 4]


TEXT: Final = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCKS: Final = {block.name: block.text for block in read_blocks(TEXT) if block.name}
