"""The public face: a list of names, which docs/plugins.md describes."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

from policysched import api
from policysched.framework import interface

PAGE = (pathlib.Path(__file__).resolve().parents[1] / "docs" / "plugins.md").read_text("utf-8")
_OPTIONAL = {
    *("AtOnceScorePlugin", "ComparingPlugin", "KeyedPlugin", "RowFilterPlugin"),
    *("PartlyKeptScorePlugin", "RowScorePlugin", "ScopedPlugin", "SharingPlugin"),
}
"""Protocols of methods that spare questions: plugins of others do without."""


def _described() -> set[str]:
    section = PAGE.split("## What to import")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_the_page_describes_every_name() -> None:
    """A name that is added or taken away is a change of the public face."""
    assert _described() == set(api.__all__)
    assert len(api.__all__) == len(set(api.__all__))


def test_every_extension_point_is_public() -> None:
    """Whoever adds a Protocol to the contract decides whether it is public."""
    protocols = {name for name in vars(interface) if name.endswith("Plugin")}
    assert protocols == {name for name in api.__all__ if name.endswith("Plugin")} | _OPTIONAL


def test_the_package_itself_stays_light() -> None:
    """Only those who import the public face wait for NumPy."""
    code = "import sys, policysched; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_script_of_the_page_works(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script needs nothing but the public face."""
    code = PAGE.split("```python check_policy.py\n")[1].split("```")[0]
    exec(compile(code, str(tmp_path / "check_policy.py"), "exec"), {})  # noqa: S102 - of our page
    assert capsys.readouterr().out.startswith("error PS")
