"""Print the notes of a release: the section of CHANGELOG.md about a version.

    python release_notes.py 0.3.0

Folded lines are joined, because a line break in the notes of a release on GitHub is shown.
"""

from __future__ import annotations

import pathlib
import re
import sys

CHANGELOG = pathlib.Path(__file__).resolve().parent / "CHANGELOG.md"
_HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\].*\n", re.MULTILINE)
_FOLD = re.compile(r"\n +(?=[^\s*-])")


def split_versions(text: str) -> dict[str, str]:
    """Return the sections of a changelog by their version, without headings and folds."""
    _, *parts = _HEADING.split(text)
    return {
        version: _FOLD.sub(" ", section).strip()
        for version, section in zip(parts[::2], parts[1::2], strict=True)
    }


def main(arguments: list[str]) -> None:
    """Print one section.

    Raises:
        SystemExit: the arguments are not one version that the changelog has.
    """
    sections = split_versions(CHANGELOG.read_text(encoding="utf-8"))
    if len(arguments) != 1:
        sys.exit("name one version: python release_notes.py VERSION")
    [version] = arguments
    if version not in sections:
        known = ", ".join(sections)
        sys.exit(f"CHANGELOG.md has no section `{version}`; it has these: {known}")
    print(sections[version])


if __name__ == "__main__":
    main(sys.argv[1:])
