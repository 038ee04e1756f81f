"""Booleans as the command-line flags of Kubernetes components accept them.

Source: Go's `strconv.ParseBool`, which pflag and component-base/featuregate use.
"""

from __future__ import annotations

from typing import Final

WORDS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""Every accepted word; `tRUE` and `yes` are not accepted."""
HELP: Final = f"write one of {', '.join(WORDS)}"


def parse_boolean(text: str) -> bool | None:
    """Return the boolean, or None if the text is not in `WORDS`."""
    return WORDS.get(text)
