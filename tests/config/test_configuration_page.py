"""docs/configuration.md says what is so."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import msgspec
import pytest

from policysched import errors
from policysched.cli import main
from policysched.config import config, config_reading, config_schema
from tests.config import configuration_page

GOOD = sorted(name for name in configuration_page.BLOCKS if name != "broken.yaml")


def test_the_tables_are_those_of_the_schema() -> None:
    """Each field has a row with its option, its default and its description, and no row more."""
    assert sorted(configuration_page.found()) == sorted(configuration_page.expected()), (
        "docs/configuration.md should have these rows:\n"
        + "\n".join(map(str, configuration_page.expected()))
    )


def test_every_option_over_a_field_is_told() -> None:
    """Those of `run_flags` stand in the tables, under the name that comes first in `--help`."""
    actions = configuration_page.parser()._actions
    known = {action.option_strings[0] for action in actions}
    assert {row.option for row in configuration_page.found()} - {""} == known


def _defaults(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the defaults of the structs by field, as far as they have some."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, dict) and inner:
            found |= _defaults(inner, f"{prefix}{key}.")
        elif inner is not None:
            found[prefix + key] = inner
    return found


def test_defaults_of_the_schema_are_those_of_the_program() -> None:
    """Whoever leaves a field out gets what the page says."""
    structs = _defaults(msgspec.to_builtins(config.Config()))
    rows = configuration_page.expected()
    told = {row.field: json.loads(row.default) for row in rows if row.default}
    outer = {field: value for field, value in told.items() if not re.search(r"NAME|\[\]", field)}
    assert {field: list(v) if isinstance(v, tuple) else v for field, v in structs.items()} == outer


def test_defaults_of_servers_are_those_of_the_program() -> None:
    """The same for the fields of a Prometheus."""
    text = "prometheus: {p: {url: http://h, basicAuth: {username: u, password: p}}}"
    head = "\n".join(f"{key}: {value}" for key, value in config_reading.HEAD.items())
    found = config_reading.parse_config(f"{head}\n{text}", "c.yaml").prometheus["p"]
    structs = _defaults(msgspec.to_builtins(found), "prometheus.NAME.")
    told = {row.field: row.default for row in configuration_page.expected() if row.default}
    outer = {field: json.loads(v) for field, v in told.items() if "NAME" in field}
    given = {f"prometheus.NAME.{name}" for name in ("url", "basicAuth.username")}
    assert outer == {
        field: value
        for field, value in structs.items()
        if field not in given and not field.endswith("password")
    }


@pytest.mark.parametrize("name", GOOD)
def test_its_examples_are_configurations(name: str) -> None:
    """Each fits the schema, and makes sense."""
    config_reading.parse_config(configuration_page.BLOCKS[name], name)


def test_what_is_wrong_is_told_as_on_the_page(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All faults at once, each with its line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yaml").write_text(configuration_page.BLOCKS["broken.yaml"])
    assert main.main(["run", "--config", "broken.yaml"]) == errors.EXIT_WRONG_INPUT
    (told,) = re.findall(r"```text broken.txt\n(.*?)```", configuration_page.TEXT, re.DOTALL)
    assert capsys.readouterr().err == told


def test_every_field_of_the_schema_is_closed_and_told() -> None:
    """No object takes unknown fields, and no field is without words."""

    def look(schema: dict[str, Any], where: str) -> None:
        if "properties" in schema:
            assert schema["additionalProperties"] is False, where
        for name, inner in schema.get("properties", {}).items():
            assert "description" in inner, f"{where}.{name}"
            look(inner, f"{where}.{name}")

    look(config_schema.load_config_schema(), "")
    for name, shared in config_schema.load_config_schema()["$defs"].items():
        look(shared, name)
