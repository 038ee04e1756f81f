"""Wheel and sdist have all files, and policysched finds them, however it was installed."""

from __future__ import annotations

import email
import pathlib
import zipfile

import pytest

from policysched import _resources, errors
from tests.repository import installations

ROOT = installations.CHECKOUT
FOLDERS = ("grammar", "policies", "schemas")
PLACES = {name: f"policysched/_data/{name}" for name in (*FOLDERS, "docs/lint")}
"""The place in a wheel of each folder of the checkout whose files it has."""
LICENSES = {
    "LICENSE",
    "policysched/serving/static/vendor/codemirror.LICENSE",
    "policysched/serving/static/vendor/htm.LICENSE",
    "policysched/serving/static/vendor/preact.LICENSE",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A wheel built from the checkout."""
    return installations.build("build_wheel", tmp_path_factory.mktemp("wheel"))


def _list_files(folder: pathlib.Path) -> set[str]:
    """Return the files of a folder of the checkout, without compiled ones."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.parent.name != "__pycache__" and path.is_file() and path.suffix != ".so"
    }


def _list_packed(wheel: pathlib.Path, place: str) -> set[str]:
    """Return the files of a folder in a wheel."""
    return {
        name.removeprefix(f"{place}/")
        for name in zipfile.ZipFile(wheel).namelist()
        if name.startswith(f"{place}/")
    }


def test_a_checkout_finds_its_own_folders() -> None:
    """Run from a checkout, the folders are those at its root."""
    assert [_resources.find_resource_folder(name) for name in FOLDERS] == [
        ROOT / name for name in FOLDERS
    ]


@pytest.mark.slow
def test_an_installed_wheel_finds_its_copies(wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Installed from a wheel, the folders come from site-packages and the command starts."""
    installation = installations.install(wheel, tmp_path / "venv")
    for name in FOLDERS:
        found = installation.find_folder(name)
        assert found.is_relative_to(tmp_path)
        assert found.parts[-3:] == ("policysched", "_data", name)
    assert installation.run("policysched", "--version").startswith("policysched ")


@pytest.mark.slow
def test_a_wheel_brings_the_plugin_of_kubectl(wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """kubectl finds plugins by the names of files on the PATH, and those that complete them."""
    installation = installations.install(wheel, tmp_path / "venv")
    said = installation.run("kubectl-policysched", "--help")
    assert said.startswith("usage: kubectl policysched ")
    assert pathlib.Path(installation.get_program("kubectl_complete-policysched")).exists()


@pytest.mark.slow
def test_an_editable_install_finds_the_checkout(tmp_path: pathlib.Path) -> None:
    """Installed in editable mode, edits of the checkout's grammar act without another install."""
    editable = installations.build("build_editable", tmp_path)
    installation = installations.install(editable, tmp_path / "venv")
    assert installation.find_folder("grammar") == ROOT / "grammar"


@pytest.mark.parametrize("name", PLACES)
def test_a_wheel_carries_every_file(name: str, wheel: pathlib.Path) -> None:
    """The wheel has the same files as the folder of the checkout, at least one."""
    packed = _list_packed(wheel, PLACES[name])
    assert packed == _list_files(ROOT / name)
    assert packed


def test_a_wheel_carries_the_whole_package(wheel: pathlib.Path) -> None:
    """With the page in the browser, and no file besides those of the checkout."""
    data = _list_packed(wheel, "policysched/_data")
    package = _list_packed(wheel, "policysched") - {f"_data/{name}" for name in data}
    assert package == _list_files(ROOT / "policysched")
    assert {"py.typed", "serving/static/index.html", "serving/static/vendor/preact.js"} <= package
    assert "docs/diagnostics.md" in data


def test_a_wheel_has_the_licences_of_all_its_code(wheel: pathlib.Path) -> None:
    """That of policysched, and those of the code of others in the page."""
    vendored = (ROOT / "policysched").rglob("*.LICENSE")
    assert {"LICENSE", *(path.relative_to(ROOT).as_posix() for path in vendored)} == LICENSES
    [metadata] = [n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("/METADATA")]
    told = email.message_from_bytes(zipfile.ZipFile(wheel).read(metadata))
    assert told["License-Expression"] == "Apache-2.0 AND MIT"
    assert set(told.get_all("License-File", ())) == LICENSES
    folder = metadata.replace("METADATA", "licenses")
    assert _list_packed(wheel, folder) == LICENSES


@pytest.mark.slow
def test_the_sdist_gives_the_same_wheel(wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Byte for byte, so an installation from the sdist is the one from the wheel."""
    sdist = installations.build("build_sdist", tmp_path)
    rebuilt = installations.build_wheel_from_sdist(sdist, tmp_path)
    assert rebuilt.name == wheel.name
    assert rebuilt.read_bytes() == wheel.read_bytes()


def test_a_missing_file_is_one_clear_error() -> None:
    """A file that does not ship with policysched is named, with what to do."""
    with pytest.raises(errors.MissingResourceError, match=r"nothing\.lark.*reinstall policysched"):
        _resources.read_resource_text("grammar", "nothing.lark")
    with pytest.raises(errors.MissingResourceError, match=r"nowhere.*tried.*reinstall"):
        _resources.find_resource_folder("nowhere")
