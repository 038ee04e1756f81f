"""docs/moved.md leads from each place of the former layout to a module that exists."""

from __future__ import annotations

import dataclasses
import fnmatch
import pathlib
import re
import subprocess
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "moved.md").read_text(encoding="utf-8")

_FORMER_LAYOUT = "166d8ec"
"""The last commit before the modules moved."""
_CODE = re.compile(r"`([^`]+)`")


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of a table that maps modules; `names` has old names, or patterns, with new ones."""

    folder: pathlib.PurePosixPath
    new_folders: tuple[pathlib.PurePosixPath, ...]
    names: tuple[tuple[str, str], ...]

    def list_named_modules(self) -> Iterator[pathlib.PurePosixPath]:
        """Yield the old places of the modules that the row names in full."""
        yield from (self.folder / f"{name}.py" for name, _ in self.names if "*" not in name)

    def find_new_places(self, module: pathlib.PurePosixPath) -> Iterator[pathlib.Path]:
        """Yield the existing modules to which the row leads from an old place."""
        for pattern, new in self.names:
            if module.parent == self.folder and fnmatch.fnmatchcase(module.stem, pattern):
                form = new.replace("*", module.stem, 1)
                for folder in self.new_folders:
                    yield from (ROOT / folder).glob(f"{form}.py")


def _read_folder(shown: str) -> pathlib.PurePosixPath:
    """Return a folder of the page relative to the checkout."""
    is_in_checkout = shown.split("/", maxsplit=1)[0] in ("benchmarks", "policysched", "tests")
    return pathlib.PurePosixPath(shown if is_in_checkout else f"policysched/{shown}")


def _read_names(cell: str) -> Iterator[tuple[str, str]]:
    """Yield the old and the new name of each item; a name without an arrow is kept."""
    for item in cell.split(", "):
        old, *new = _CODE.findall(item)
        yield old, new[0] if new else "*"


def _read_rows(columns: int) -> Iterator[list[str]]:
    """Yield the cells of the rows of tables with so many columns; heads have no code."""
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == columns:
            yield cells


ROWS = [
    Row(
        _read_folder(folder.strip("`")),
        tuple(_read_folder(shown) for shown in _CODE.findall(new_folders)),
        tuple(_read_names(names)),
    )
    for folder, new_folders, names in _read_rows(3)
]


def _list_former_modules() -> set[pathlib.PurePosixPath]:
    """Return the modules of the former layout; empty without its commit, as in a shallow clone."""
    words = ("git", "ls-tree", "-r", "--name-only", _FORMER_LAYOUT, "policysched", "tests")
    listed = subprocess.run(
        (*words, "benchmarks"), cwd=ROOT, capture_output=True, text=True, check=False
    )
    modules = map(pathlib.PurePosixPath, listed.stdout.splitlines())
    return {each for each in modules if each.suffix == ".py" and each.name != "__init__.py"}


def test_every_module_that_moved_has_one_new_place() -> None:
    """Modules of the former layout that are gone, and all that the page names."""
    gone = {module for module in _list_former_modules() if not (ROOT / module).exists()}
    named = {module for row in ROWS for module in row.list_named_modules()}
    assert len(named) > 300
    places = {
        module.as_posix(): {place for row in ROWS for place in row.find_new_places(module)}
        for module in gone | named
    }
    assert {module: found for module, found in places.items() if len(found) != 1} == {}


def test_new_modules_and_folders_exist() -> None:
    """The modules that were made from parts of others, and the folders of all rows."""
    tables = PAGE.partition("| new module |")[2].partition("In the tables below")[0]
    modules = re.findall(r"^\| `([^`]+)`", tables, re.MULTILINE)
    assert modules
    missing = [name for name in modules if not (ROOT / "policysched" / f"{name}.py").exists()]
    folders = {folder for row in ROWS for folder in row.new_folders}
    missing += [folder.as_posix() for folder in folders if not (ROOT / folder).is_dir()]
    assert missing == []
