"""Where policy texts come from: files, folders, ConfigMap manifests.

All texts that are found together form one namespace, as the keys of one ConfigMap do.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping

from policysched import errors
from policysched.app import plain_yaml
from policysched.lang import limits, source

SUFFIX = ".policy"
_MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")
_MAX_MANIFEST_BYTES = 8 * limits.MAX_TEXT_BYTES


def read(paths: Iterable[str]) -> list[source.SourceText]:
    """Return the policy texts at `paths`: `.policy` files, folders of such, ConfigMap manifests.

    A file that is named twice is read once.

    Raises:
        InputError: a path cannot be read, or holds no policy text.
    """
    found = (text for path in paths for text in _read_path(pathlib.Path(path), path))
    return list({text.name: text for text in found}.values())


def _read_path(path: pathlib.Path, where: str) -> list[source.SourceText]:
    if path.is_dir():
        return _read_folder(path, where)
    if path.suffix in _MANIFEST_SUFFIXES:
        return _read_manifest(path, where)
    return [_read_file(path, where)]


def _read_folder(folder: pathlib.Path, where: str) -> list[source.SourceText]:
    """Return the policies of a folder, by name; hidden entries are those of a mounted ConfigMap."""
    files = sorted(
        file
        for file in folder.iterdir()
        if file.suffix == SUFFIX and not file.name.startswith(".") and file.is_file()
    )
    if not files:
        raise errors.InputError(where, f"has no file that ends in `{SUFFIX}`")
    return [_read_file(file, str(file)) for file in files]


def _read_file(file: pathlib.Path, where: str) -> source.SourceText:
    return source.SourceText(where, _read_text(file, where, limits.MAX_TEXT_BYTES + 1))


def _read_text(file: pathlib.Path, where: str, max_bytes: int) -> str:
    """Return the text of a file, cut off at `max_bytes`: the parser refuses what is so long."""
    try:
        with file.open("rb") as stream:
            content = stream.read(max_bytes)
        is_cut = len(content) == max_bytes
        return content.decode("utf-8-sig", errors="replace" if is_cut else "strict")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise errors.InputError(f"{where}:{line}", "is not UTF-8 text") from error
    except OSError as error:
        raise errors.InputError(where, f"cannot be read: {error.strerror}") from error


def _read_manifest(file: pathlib.Path, where: str) -> list[source.SourceText]:
    text = _read_text(file, where, _MAX_MANIFEST_BYTES)
    maps = [d.value for d in plain_yaml.load_all(text, where) if _is_config_map(d.value)]
    if not maps:
        raise errors.InputError(
            where, "holds no ConfigMap", help=f"policies are in ConfigMaps or `{SUFFIX}` files"
        )
    return [text for config_map in maps for text in _policies_of(config_map, where)]


def _is_config_map(value: plain_yaml.Value) -> bool:
    return isinstance(value, Mapping) and value.get("kind") == "ConfigMap"


def _policies_of(
    config_map: Mapping[str, plain_yaml.Value], where: str
) -> Iterator[source.SourceText]:
    """Yield the keys that end in `.policy`; all others are somebody else's."""
    data = config_map.get("data") or {}
    keys = [key for key in data if key.endswith(SUFFIX)] if isinstance(data, Mapping) else []
    if not keys:
        raise errors.InputError(where, f"the ConfigMap has no key that ends in `{SUFFIX}`")
    for key in keys:
        if not isinstance(data[key], str):
            raise errors.InputError(where, f"the key `{key}` of the ConfigMap is not text")
        yield source.SourceText(f"{where}/{key}", data[key])
