"""policysched finds the files that ship with it, however it was installed."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

from policysched import _resources, errors

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("grammar", "policies", "schemas")

_PRINT_GRAMMAR_FOLDER = (
    "from policysched import _resources; "
    "print(_resources.find_resource_path('grammar', 'policy.lark').parent)"
)


@dataclasses.dataclass(frozen=True)
class Installation:
    """A virtual environment with policysched and nothing else in it."""

    folder: pathlib.Path

    def run(self, program: str, *arguments: str) -> str:
        """Return what a program of the environment prints, started far from the checkout."""
        command = [str(self.folder / "bin" / program), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=True, env={}
        )
        return done.stdout.strip()


def _build(hook: str, folder: pathlib.Path) -> pathlib.Path:
    """Call a PEP 517 hook of the build backend on the checkout and return the wheel.

    `tests/kernels` builds wheels with compiled kernels.
    """
    code = f"from hatchling import build; build.{hook}({str(folder)!r})"
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "POLICYSCHED_KERNELS": "none"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def _install(wheel: pathlib.Path, folder: pathlib.Path) -> Installation:
    run = [sys.executable, "-m"]
    subprocess.run([*run, "venv", "--without-pip", str(folder)], check=True)
    pip = [*run, "pip", "--python", str(folder), "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", str(wheel)], check=True)
    return Installation(folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A wheel built from the checkout."""
    return _build("build_wheel", tmp_path_factory.mktemp("wheel"))


def test_a_checkout_finds_its_own_folders() -> None:
    """Run from a checkout, the folders are those at its root."""
    assert [_resources.find_resource_folder(name) for name in FOLDERS] == [
        ROOT / name for name in FOLDERS
    ]


@pytest.mark.slow
def test_an_installed_wheel_finds_its_copies(wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Installed from a wheel, the grammar comes from site-packages and the command starts."""
    installation = _install(wheel, tmp_path / "venv")
    found = pathlib.Path(installation.run("python", "-c", _PRINT_GRAMMAR_FOLDER))
    assert found.is_relative_to(tmp_path)
    assert found.parts[-3:] == ("policysched", "_data", "grammar")
    assert installation.run("policysched", "--version").startswith("policysched ")


@pytest.mark.slow
def test_a_wheel_brings_the_plugin_of_kubectl(wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """kubectl finds plugins by the names of files on the PATH, and those that complete them."""
    installation = _install(wheel, tmp_path / "venv")
    said = installation.run("kubectl-policysched", "--help")
    assert said.startswith("usage: kubectl policysched ")
    assert (installation.folder / "bin" / "kubectl_complete-policysched").exists()


@pytest.mark.slow
def test_an_editable_install_finds_the_checkout(tmp_path: pathlib.Path) -> None:
    """Installed in editable mode, edits of the checkout's grammar act without another install."""
    editable = _build("build_editable", tmp_path)
    installation = _install(editable, tmp_path / "venv")
    assert installation.run("python", "-c", _PRINT_GRAMMAR_FOLDER) == str(ROOT / "grammar")


@pytest.mark.parametrize("name", FOLDERS)
def test_a_wheel_carries_every_file(name: str, wheel: pathlib.Path) -> None:
    """The wheel has the same files as the folder of the checkout, at least one."""
    inside = f"policysched/_data/{name}/"
    packed = {
        path.removeprefix(inside)
        for path in zipfile.ZipFile(wheel).namelist()
        if path.startswith(inside)
    }
    folder = ROOT / name
    assert packed == {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert packed


def test_a_missing_file_is_one_clear_error() -> None:
    """A file that does not ship with policysched is named, with what to do."""
    with pytest.raises(errors.MissingResourceError, match=r"nothing\.lark.*reinstall policysched"):
        _resources.read_resource_text("grammar", "nothing.lark")
    with pytest.raises(errors.MissingResourceError, match=r"nowhere.*tried.*reinstall"):
        _resources.find_resource_folder("nowhere")
