"""The patch that the page makes of an edit, and the command that applies it."""

from __future__ import annotations

from typing import Any

COMMAND = (
    "kubectl patch configmap policies --namespace sched --type json "
    "--patch-file policysched-patch.json"
)


def make_patch(key: str, before: str, after: str) -> list[dict[str, Any]]:
    """Return the JSON Patch that replaces the text of a key, if this is still `before`."""
    path = f"/data/{key}"
    return [
        {"op": "test", "path": path, "value": before},
        {"op": "replace", "path": path, "value": after},
    ]
