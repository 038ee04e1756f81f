"""Fields of kube-scheduler's configuration that the configuration of policysched also has."""

from __future__ import annotations

from typing import Any

import yaml

from policysched import errors
from policysched.config import config_reading

ADVICE = "policysched works without it; docs/import.md describes the treatment of each field"


def find_config_fields_problem(fields: dict[str, Any]) -> str | None:
    """Return the reason why the fields cannot be set, or None if they can.

    The configuration's own schema and reader decide, so a field that a later version adds is
    imported without a change here.
    """
    try:
        config_reading.parse_config(format_configuration_yaml(fields), "config.yaml")
    except errors.InputError as error:
        return error.problem.split("\n", maxsplit=1)[0]
    return None


def format_configuration_yaml(fields: dict[str, Any]) -> str:
    """Return the text of a configuration file with these fields."""
    return yaml.safe_dump(config_reading.HEAD | fields, sort_keys=False, allow_unicode=True)
