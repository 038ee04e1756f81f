"""deploy/values.schema.json has the schema of the configuration; this module copies it.

Helm reads no file outside the chart. `python -m tests.deploy.chart.values_schema` writes the copy.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

_ROOT = pathlib.Path(__file__).resolve().parents[3]
PATH = _ROOT / "deploy" / "values.schema.json"
_CONFIG = _ROOT / "schemas" / "config.schema.json"
_ONLY_OF_FILES = ("$schema", "required")
"""`required` names apiVersion and kind, which the chart takes from deploy/base/config.yaml."""


def make_schema() -> dict[str, Any]:
    """Return the schema of the values, with the present schema of the configuration."""
    schema: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    config = json.loads(_CONFIG.read_text(encoding="utf-8"))
    schema["properties"]["config"] = {
        name: value for name, value in config.items() if name not in _ONLY_OF_FILES
    }
    return schema


if __name__ == "__main__":
    PATH.write_text(json.dumps(make_schema(), indent=2) + "\n", encoding="utf-8")
