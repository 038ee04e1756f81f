"""docs/configuration.md, and what its tables have to say: the schema, the options of `run`."""

from __future__ import annotations

import argparse
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from policysched.cli.options import run_flags
from policysched.config import config_schema

TEXT = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "configuration.md").read_text(
    encoding="utf-8"
)
BLOCKS: dict[str, str] = dict(
    re.findall(r"^```yaml ([\w.-]+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
)
"""Files of the page, by name."""
_OF_SEVERAL_FIELDS = {
    "policies.paths": "--policies",
    "params": "--params",
    "prometheus": "--prometheus",
    "features": "--feature-gates",
}
"""Options that take more than the value of one field."""


class Row(NamedTuple):
    """A row of a table: a field, its option and its default (`""` where there is none), a text."""

    field: str
    option: str
    default: str
    meaning: str

    def __str__(self) -> str:
        """Return it as it is written."""
        option, default = (f"`{cell}`" if cell else "" for cell in (self.option, self.default))
        return f"| `{self.field}` | {option} | {default} | {self.meaning} |"


def expected() -> list[Row]:
    """Return the rows that the page has to have, in the order of the schema."""
    return list(_rows("", config_schema.load_config_schema()))


def found() -> list[Row]:
    """Return the rows of the page."""
    cells = re.findall(r"^\| `(\S+)` \| (.*?) \| (.*?) \| (.*) \|$", TEXT, re.MULTILINE)
    return [
        Row(field, option.strip("`"), default.strip("`"), meaning)
        for field, option, default, meaning in cells
    ]


def _rows(prefix: str, schema: dict[str, Any]) -> Iterator[Row]:
    for name, own in schema.get("properties", {}).items():
        inner = _resolved(own)
        field = prefix + name
        default = json.dumps(inner["default"]) if "default" in inner else ""
        yield Row(field, OPTIONS.get(field, ""), default, inner["description"])
        yield from _rows(f"{field}.", inner)
        if "items" in inner:
            yield from _rows(f"{field}[].", _resolved(inner["items"]))
        if isinstance(inner.get("additionalProperties"), dict):
            yield from _rows(f"{field}.NAME.", _resolved(inner["additionalProperties"]))


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    shared: dict[str, Any] = config_schema.load_config_schema()["$defs"][
        schema["$ref"].rpartition("/")[2]
    ]
    return shared | schema


def _options() -> dict[str, str]:
    groups = run_flags.OPTIONS.values()
    return _OF_SEVERAL_FIELDS | {each.path: each.flag_text for group in groups for each in group}


OPTIONS = _options()
"""Options of `run`, by field."""


def parser() -> argparse.ArgumentParser:
    """Return a parser with the options of `run` that stand over fields."""
    made = argparse.ArgumentParser(add_help=False)
    run_flags.add_run_options(made)
    return made
