"""docs/commands.md does what it shows."""

from __future__ import annotations

import pathlib
import re
import shlex

import pytest

from policysched.cli import main
from policysched.config import config, config_reading

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "commands.md"
_FENCE = re.compile(r"^```(\w+) ?([\w.]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = _FENCE.findall(PAGE.read_text(encoding="utf-8"))
CONSOLES = [content for language, _, content in BLOCKS if language == "console"]


@pytest.mark.parametrize("console", CONSOLES, ids=lambda text: text.split(" ")[2])
def test_commands_print_what_the_page_shows(
    console: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each command, run beside the files of the page, prints what stands below it."""
    monkeypatch.chdir(tmp_path)
    for _, name, content in BLOCKS:
        if name:
            (tmp_path / name).write_text(content)
    command, _, expected = console.partition("\n")
    program, *argv = shlex.split(command.removeprefix("$ "))
    assert program == "policysched"
    assert main.main(argv) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == (expected, "")


def test_the_configuration_of_the_page_is_one() -> None:
    """It fits the schema, and its times and limits are the defaults."""
    (text,) = [content for _, name, content in BLOCKS if name == "config.yaml"]
    found = config_reading.parse_config(text, "config.yaml")
    default = config.Config(params=found.params, profiles=found.profiles)
    assert (found, len(found.profiles)) == (default, 1)
