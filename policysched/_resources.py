"""The folders that ship with the code: grammar/, schemas/ and policies/.

A wheel contains them as `policysched/_data/<folder>`, and a checkout contains them in its root. For
an editable install, hatchling also copies them into site-packages, but Python imports the package
from the checkout, which has no `_data`. The lookup therefore tries the packaged copy first and the
checkout second, both relative to this file.
"""

from __future__ import annotations

import pathlib

from policysched import errors

_PACKAGE = pathlib.Path(__file__).resolve().parent


def find_resource_folder(name: str) -> pathlib.Path:
    """Return the folder `grammar`, `schemas` or `policies`.

    Raises:
        MissingResourceError: neither the package nor a checkout contains the folder.
    """
    candidates = (_PACKAGE / "_data" / name, _PACKAGE.parent / name)
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    tried = " and ".join(f"`{candidate}`" for candidate in candidates)
    raise errors.MissingResourceError(
        f"the folder `{name}` of policysched is missing, tried {tried}; reinstall policysched",
    )


def find_resource_path(name: str, *parts: str) -> pathlib.Path:
    """Return the path of the file at `parts` below the folder `name`.

    Raises:
        MissingResourceError: the file does not exist.
    """
    file = find_resource_folder(name).joinpath(*parts)
    if not file.is_file():
        raise errors.MissingResourceError(
            f"the file `{file}` of policysched is missing; reinstall policysched",
        )
    return file


def read_resource_text(name: str, *parts: str) -> str:
    """Return the content of the file at `parts` below the folder `name`.

    Raises:
        MissingResourceError: the file does not exist.
    """
    return find_resource_path(name, *parts).read_text(encoding="utf-8")
