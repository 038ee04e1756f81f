"""The examples of docs/operations.md and of the reference pages behind it."""

from __future__ import annotations

import re
from typing import Final

from tests import page_examples

_NAMES: Final = (
    "operations",
    "replicas",
    "policy-versions",
    "rights",
    "secure-port",
    "coexistence",
    "sizing",
)
PAGES: Final = tuple(page_examples.DOCS / f"{name}.md" for name in _NAMES)
_SPAN: Final = re.compile(r"`(kubectl|policysched) ([^`]+)`")


def read_commands(text: str) -> list[str]:
    """Return commands in sentences and tables; a mention such as `kubectl apply` is none."""
    found = _SPAN.findall(page_examples.remove_blocks(text))
    spans = (f"{program} {rest}" for program, rest in found)
    return [" ".join(span.split()) for span in spans if len(span.split()) >= 4]


TEXT: Final = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCKS: Final = {
    block.file: block.body for block in page_examples.parse_blocks(TEXT) if block.is_file
}
