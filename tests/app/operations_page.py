"""The examples of docs/operations.md, by name."""

from __future__ import annotations

import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operations.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```yaml ([\w.]+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
