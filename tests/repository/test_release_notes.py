"""`release_notes.py` prints the section of CHANGELOG.md about one version."""

from __future__ import annotations

import subprocess
import sys

import pytest

import policysched
import release_notes

_TEXT = """\
# Changelog

## [Unreleased]

### Added

- `ui`: a page
  in the browser.

## [1.10.0] - 2026-11-23

### Fixed

- A line of [links](https://example.com).
  - A part of it.

## [1.1.0] - 2026-11-20
"""


def test_a_section_ends_at_the_next_version() -> None:
    """Folded lines are joined, lists in lists stay, and a section may be empty."""
    assert release_notes.split_versions(_TEXT) == {
        "Unreleased": "### Added\n\n- `ui`: a page in the browser.",
        "1.10.0": "### Fixed\n\n- A line of [links](https://example.com).\n  - A part of it.",
        "1.1.0": "",
    }


def test_the_changelog_has_notes_of_this_version(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the sections of other versions."""
    release_notes.main([policysched.__version__])
    printed = capsys.readouterr().out
    assert printed.startswith("### ")
    assert "\n## " not in printed


@pytest.mark.parametrize(
    "arguments, error",
    [
        pytest.param(["9.9.9"], "CHANGELOG.md has no section `9.9.9`; it has these: ", id="new"),
        pytest.param([""], "CHANGELOG.md has no section ``; it has these: ", id="empty"),
        pytest.param([], "name one version: ", id="none"),
        pytest.param(["9.9.9", "9.9.8"], "name one version: ", id="two"),
    ],
)
def test_an_unknown_version_is_one_error(arguments: list[str], error: str) -> None:
    """On one line, with an exit code that stops a script."""
    done = subprocess.run(
        [sys.executable, release_notes.__file__, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(error)
    assert done.stderr.count("\n") == 1
