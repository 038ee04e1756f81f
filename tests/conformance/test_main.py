"""Wrong usage of `python -m tests.conformance` gets one clear error."""

from __future__ import annotations

import pathlib

import pytest

from tests.conformance import __main__ as command


@pytest.mark.parametrize(
    "arguments, told",
    [
        pytest.param(["--families", "bogus"], "there is no family `bogus`", id="family"),
        pytest.param(["--families", ","], "name a family", id="no-family"),
        pytest.param(["--cases", "0"], "`0` is not a whole number from 1 on", id="no-cases"),
        pytest.param(["--cases", "many"], "`many` is not a whole number", id="cases"),
        pytest.param(["--jobs", "-1"], "`-1` is not a whole number", id="jobs"),
        pytest.param(["--nonsense"], "--nonsense", id="unknown"),
    ],
)
def test_wrong_usage_ends_with_3(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    """One line on stderr says what is wrong."""
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 3
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("text", [None, "no JSON"], ids=["missing", "no-json"])
def test_a_file_that_is_no_case_ends_with_2(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, text: str | None
) -> None:
    """The file is named, and nothing is asked."""
    path = tmp_path / "case.json"
    if text is not None:
        path.write_text(text)
    assert command.main(["--replay", str(path)]) == 2
    assert str(path) in capsys.readouterr().err


@pytest.mark.e2e
def test_families_are_those_that_were_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is compared once, and the table has a row for it."""
    assert command.main(["--families", "taints,taints", "--cases", "1", "--jobs", "1"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert sum(row.startswith("taints") for row in rows) == 1
