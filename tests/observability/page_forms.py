"""The forms of pages below /debug/, as schemas/ has them."""

from __future__ import annotations

from typing import Any

import jsonschema
import orjson

from policysched import _resources


def read(name: str, body: bytes | str) -> Any:
    """Return what a page says, once it fits the schema `debug-NAME`."""
    document = orjson.loads(body)
    schema = orjson.loads(_resources.read_resource_text("schemas", f"debug-{name}.schema.json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)
    return document
