"""Checks reports of commands and pages against the schemas in `schemas/`."""

from __future__ import annotations

import functools
import json

import jsonschema

from policysched import _resources


def check_report(report: object, name: str) -> None:
    """Check a report against `schemas/NAME.schema.json`.

    Raises:
        jsonschema.ValidationError: The schema does not allow the report.
    """
    load_validator(name).validate(report)


@functools.cache
def load_validator(name: str) -> jsonschema.Draft202012Validator:
    """Return the validator of `schemas/NAME.schema.json`.

    To make one takes longer than most tests, so each is made once.
    """
    schema = json.loads(_resources.read_resource_text("schemas", f"{name}.schema.json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)
