"""Serve the files in `static` as they are: the page has no build step."""

from __future__ import annotations

import gzip
import hashlib
import pathlib

from policysched import errors
from policysched.serving import http_server, security_headers

FOLDER = pathlib.Path(__file__).resolve().parent / "static"
_CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def load_static_pages(root: str = "/") -> dict[str, http_server.MakePage]:
    """Return the pages of all files, keyed by their path below `root`; `root` is index.html.

    `root` without its last slash leads to `root`, on which the paths in index.html depend.

    Raises:
        MissingResourceError: the folder or index.html is missing.
    """
    found: dict[str, http_server.MakePage] = {}
    for file in sorted(FOLDER.rglob("*")):
        if file.suffix in _CONTENT_TYPES:
            found[root + file.relative_to(FOLDER).as_posix()] = _make_file_page(file)
    index = found.pop(f"{root}index.html", None)
    if index is None:
        message = f"the file `{FOLDER / 'index.html'}` of policysched is missing"
        raise errors.MissingResourceError(f"{message}; reinstall policysched")
    if root != "/":
        moved = http_server.HttpPage(b"", status=308, headers={"Location": root})
        found[root.removesuffix("/")] = lambda _: moved
    return {root: index, **found}


def compute_digest(body: bytes) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    return hashlib.sha256(body).hexdigest()


def _make_file_page(file: pathlib.Path) -> http_server.MakePage:
    body = file.read_bytes()
    page = http_server.HttpPage(
        body,
        _CONTENT_TYPES[file.suffix],
        headers=security_headers.HEADERS,
        etag=f'"{compute_digest(body)}"',
        is_compressed=True,
        gzip_body=gzip.compress(body, mtime=0),
    )
    return lambda _: page
