"""The package of docs/plugins.md, built and installed as its author would."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from tests import page_examples

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def page() -> dict[str, str]:
    """The files that the page shows, by name; blocks without one by their language."""
    blocks = page_examples.read_blocks(page_examples.DOCS / "plugins.md")
    return {block.file or block.kind: block.body for block in blocks}


@pytest.fixture(scope="session")
def site_packages(page: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the installed wheel, to be put on PYTHONPATH."""
    package = tmp_path_factory.mktemp("package")
    for name in ("pyproject.toml", "pod_budget.py"):
        (package / name).write_text(page[name], encoding="utf-8")
    target = tmp_path_factory.mktemp("site-packages")
    offline = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    _pip("wheel", *offline, "--no-build-isolation", "--wheel-dir", str(package), str(package))
    (wheel,) = package.glob("*.whl")
    _pip("install", *offline, "--target", str(target), str(wheel))
    return target


def _pip(*arguments: str) -> None:
    argv = [sys.executable, "-m", "pip", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def environment(site_packages: pathlib.Path) -> dict[str, str]:
    """The environment of a process that has the package installed."""
    path = os.pathsep.join(filter(None, (str(site_packages), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}
