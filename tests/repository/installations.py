"""Wheels and the sdist of the checkout, and environments that they are installed in."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sys
from typing import Final

CHECKOUT: Final = pathlib.Path(__file__).resolve().parents[2]
_PIP: Final = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
_OFFLINE: Final = ("--no-index", "--no-deps")


@dataclasses.dataclass(frozen=True)
class Installation:
    """A virtual environment with policysched, and with nothing that the test did not install.

    Attributes:
        folder: of the environment; programs start in it, far from the checkout.
    """

    folder: pathlib.Path

    def get_program(self, name: str) -> str:
        """Return the path of a program of the environment."""
        return str(self.folder / "bin" / name)

    def run(self, program: str, *arguments: str) -> str:
        """Return what a program prints, after a check that it succeeds."""
        command = [self.get_program(program), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, env={}
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def find_folder(self, name: str) -> pathlib.Path:
        """Return the folder that `policysched._resources` finds."""
        code = f"from policysched import _resources as r; print(r.find_resource_folder({name!r}))"
        return pathlib.Path(self.run("python", "-c", code))


def build(hook: str, folder: pathlib.Path) -> pathlib.Path:
    """Call a PEP 517 hook of the build backend on the checkout and return the file it builds.

    `tests/kernels` builds wheels with compiled kernels.
    """
    code = f"from hatchling import build; print(build.{hook}({str(folder)!r}))"
    return folder / _build([sys.executable, "-c", code]).splitlines()[-1]


def build_wheel_from_sdist(sdist: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Build a wheel as `pip install` does with an sdist, without a download."""
    offline = [*_OFFLINE, "--no-build-isolation", "--no-cache-dir"]
    _build([*_PIP, "wheel", *offline, "--wheel-dir", str(folder), str(sdist)])
    [wheel] = folder.glob("*.whl")
    return wheel


def _build(command: list[str]) -> str:
    environment = {**os.environ, "POLICYSCHED_KERNELS": "none"}
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def install(wheel: pathlib.Path, folder: pathlib.Path) -> Installation:
    """Install a wheel without the packages that it needs into a new environment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [*_PIP, "--python", str(folder)]
    subprocess.run([*pip, "install", *_OFFLINE, str(wheel)], check=True)
    return Installation(folder)
