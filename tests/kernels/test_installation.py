"""Compiled kernels match their sources, and a build without a compiler works."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import pytest

from policysched import errors
from policysched.kernels import installation, resources

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _can_compile() -> bool:
    """Return whether there are a C compiler and the headers of Python."""
    compiler, *_ = (os.environ.get("CC") or sysconfig.get_config_var("CC")).split()
    header = pathlib.Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(compiler) is not None and header.exists()


def test_kernels_are_compiled_if_there_is_a_compiler() -> None:
    """`make` compiles them in the checkout, unless POLICYSCHED_KERNELS forbids it."""
    is_wanted = os.environ.get("POLICYSCHED_KERNELS") != "none"
    names = [path.stem for path in installation.list_kernels()]
    expected = [] if is_wanted and _can_compile() else names
    assert installation.list_interpreted_kernels() == expected


def test_a_kernel_that_was_changed_after_it_was_compiled_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The message names the source, and what to do."""
    monkeypatch.setattr(resources, "SOURCE_SHA256", "0" * 64, raising=False)
    with pytest.raises(errors.PolicySchedError, match=r"resources\.py was changed .*make"):
        installation.list_interpreted_kernels()


def test_a_kernel_without_a_compiled_module_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The hash is in compiled modules alone."""
    monkeypatch.delattr(resources, "SOURCE_SHA256", raising=False)
    assert "resources" in installation.list_interpreted_kernels()
    installation.warn_of_interpreted_kernels()
    assert re.search(r"kernels .*resources.* are not compiled", caplog.text)


def _build(folder: pathlib.Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build a wheel of the checkout into a folder."""
    code = f"from hatchling import build; build.build_wheel({str(folder)!r})"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _list_compiled(wheel: pathlib.Path) -> list[str]:
    return [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]


@pytest.mark.slow
def test_without_a_compiler_the_wheel_is_pure(tmp_path: pathlib.Path) -> None:
    """It is one for all platforms, and the build says why."""
    done = _build(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "kernels are not compiled" in done.stderr
    [wheel] = tmp_path.iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")
    assert _list_compiled(wheel) == []


@pytest.mark.slow
def test_a_wheel_that_must_be_compiled_is_not_built_without_a_compiler(
    tmp_path: pathlib.Path,
) -> None:
    """As in the image, which is built with POLICYSCHED_KERNELS=compiled."""
    assert _build(tmp_path, POLICYSCHED_KERNELS="compiled").returncode != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_unknown_mode_is_named(tmp_path: pathlib.Path) -> None:
    """With those that there are."""
    done = _build(tmp_path, POLICYSCHED_KERNELS="fast")
    assert done.returncode != 0
    assert "`fast`, but must be auto, compiled, checked or none" in done.stderr


@pytest.mark.proof
@pytest.mark.slow
def test_a_compiled_wheel_is_for_one_platform_and_reproducible(tmp_path: pathlib.Path) -> None:
    """Its kernels are, byte for byte, those that `make` compiled in the checkout."""
    done = _build(tmp_path, **{**os.environ, "POLICYSCHED_KERNELS": "compiled"})
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.iterdir()
    assert "-none-any" not in wheel.name
    compiled = _list_compiled(wheel)
    for name in compiled:
        assert zipfile.ZipFile(wheel).read(name) == (ROOT / name).read_bytes()
    assert [pathlib.Path(name).name.split(".")[0] for name in compiled] == [
        path.stem for path in installation.list_kernels()
    ]


@pytest.mark.proof
@pytest.mark.slow
def test_without_compiled_kernels_decisions_are_the_same(tmp_path: pathlib.Path) -> None:
    """The demo's cluster, with kernels that Python interprets."""
    copy = tmp_path / "pure"
    shutil.copytree(
        ROOT / "policysched",
        copy / "policysched",
        ignore=shutil.ignore_patterns("*.so", "__pycache__"),
    )
    for folder in ("grammar", "policies", "schemas", "docs"):
        (copy / folder).symlink_to(ROOT / folder)
    outputs = []
    for place in (ROOT, copy):
        done = subprocess.run(
            [sys.executable, "-m", "policysched", "demo", "--fast", "--plain"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(place), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
