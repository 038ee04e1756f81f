"""How commands that rewrite policy files show and write what they have made of them."""

from __future__ import annotations

import difflib
import os
import pathlib
import stat
import tempfile
from typing import TYPE_CHECKING

from policysched import errors

if TYPE_CHECKING:
    from policysched.lang import source


def diff(text: source.SourceText, rewritten: str, how: str) -> list[str]:
    """Return the lines of a unified diff; `how` says in a word what was done to the text."""
    lines = difflib.unified_diff(
        text.text.splitlines(keepends=True),
        rewritten.splitlines(keepends=True),
        fromfile=text.name,
        tofile=f"{text.name} ({how})",
    )
    unended = "\n\\ No newline at end of file\n"
    return [line if line.endswith("\n") else line + unended for line in lines]


def write(path: pathlib.Path, content: str) -> None:
    """Replace a file at once: whoever reads it meanwhile sees the old or the new text whole.

    Raises:
        InputError: it cannot be written.
    """
    target = path.resolve()  # a link stays a link
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            _fill(descriptor, content, target.stat())
            pathlib.Path(name).replace(target)
        except BaseException:  # an interrupt leaves nothing behind either
            pathlib.Path(name).unlink()
            raise
    except OSError as error:
        raise errors.InputError(str(path), f"cannot be written: {error.strerror}") from error


def _fill(descriptor: int, content: str, like: os.stat_result) -> None:
    """Write a new file that has the owner and mode of the one it replaces.

    Raises:
        OSError: among others, for someone who may not give the file to its owner.
    """
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        own = os.fstat(file.fileno())
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            os.fchown(file.fileno(), like.st_uid, like.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))  # last: chown clears setuid bits
        file.write(content)
