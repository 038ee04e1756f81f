"""Makes the file system read-only but for /tmp, as in the container, to one Python process.

Python imports it at its start from wherever PYTHONPATH leads.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.chmod")
_WRITABLE = ("/tmp/", "/dev/", "/proc/")  # noqa: S108 - what the Deployment mounts there


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    path = arguments[0] if arguments else ""
    if isinstance(path, int):  # a descriptor, opened before
        return
    is_write = event in _CHANGES or (event == "open" and (arguments[2] or 0) & _WRITING)
    if is_write and not os.fspath(path).startswith(_WRITABLE):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)


sys.addaudithook(_refuse)
