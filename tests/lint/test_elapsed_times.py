"""Lint understands how long pods wait, and ages."""

from __future__ import annotations

import json
import pathlib

import pytest

from policysched.cli import main

POLICY = """\
policy p {{
  description "x"
  owner "y"
  for pods where app = web
{}
}}
"""


@pytest.mark.parametrize(
    "rules, expected",
    [
        ("  reject when waiting < 5m and waiting > 10m", ["PS310"]),
        ("  reject when waiting >= 0s", ["PS310"]),
        ("  reject when nodeAge < 5m or nodeAge >= 5m", ["PS310"]),
        ("  reject when waiting < 5m as a\n  reject when waiting < 3m as b", ["PS204"]),
        ("  score podAge > 10m", ["PS312"]),
        ("  reject when waiting < 5m and node(pool != spot)", []),
        ("  reject when nodeAge < 5m as a\n  reject when podAge < 3m as b", []),
        ("  reject when waiting > 5m and waiting < 10m", []),
        ("  score nodeAge > 1d weight 5", []),
    ],
)
def test_contradictions_and_rules_that_others_imply(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], rules: str, expected: list[str]
) -> None:
    """Comparisons of one time are compared with each other, and times are never negative."""
    path = tmp_path / "p.policy"
    path.write_text(POLICY.format(rules), encoding="utf-8")
    main.main(["lint", str(path), "-o", "json"])
    found = json.loads(capsys.readouterr().out)
    codes = [each["code"] for each in found["findings"] if each["severity"] != "info"]
    assert codes == expected
