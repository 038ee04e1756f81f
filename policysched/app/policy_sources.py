"""Where policy texts come from: files, folders, ConfigMap manifests, standard input.

All texts that are found together form one namespace, as the keys of one ConfigMap do.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping

from policysched import errors
from policysched.app import plain_yaml
from policysched.lang import limits, source

SUFFIX = ".policy"
MOUNT_LINK = "..data"
"""What kubelet swaps to change a mounted ConfigMap (pkg/volume/util/atomic_writer.go)."""
STDIN = "-"
STDIN_NAME = "<stdin>"
_MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")
_LISTS = ("List", "ConfigMapList")
_MAX_MANIFEST_BYTES = 8 * limits.MAX_TEXT_BYTES


def read(paths: Iterable[str]) -> list[source.SourceText]:
    """Return the policy texts at `paths`: `.policy` files, folders of such, ConfigMap manifests.

    `-` is standard input. What is named twice is read once.

    Raises:
        InputError: a path cannot be read, or holds no policy text.
        UsageError: a path is empty.
    """
    found = (text for path in dict.fromkeys(paths) for text in _read_path(path))
    return list({text.name: text for text in found}.values())


def policy_keys(keys: Iterable[str]) -> list[str]:
    """Return those keys of a ConfigMap that are policies, in order; others are somebody else's."""
    return sorted(key for key in keys if key.endswith(SUFFIX))


def without_mark(text: str) -> str:
    """Return the text of a ConfigMap as it would be read from a file: no byte order mark."""
    return text.removeprefix("\ufeff")


def _read_path(where: str) -> list[source.SourceText]:
    if not where:
        raise errors.UsageError("a path of policies is empty; `.` is the current folder")
    if where == STDIN:
        return [source.SourceText(STDIN_NAME, _read_stdin(limits.MAX_TEXT_BYTES + 1))]
    path = pathlib.Path(where)
    try:
        if path.is_dir():
            return _read_folder(path, where)
    except OSError as error:
        raise _unreadable(where, error) from error
    if path.suffix in _MANIFEST_SUFFIXES:
        return _read_manifest(path, where)
    return [_read_file(path, where)]


def _read_folder(folder: pathlib.Path, where: str) -> list[source.SourceText]:
    """Return the policies of a folder, by name.

    All of a mounted ConfigMap are read from the folder that `..data` leads to now: the link may be
    swapped while we read, what is behind it never changes.
    """
    mounted = folder / MOUNT_LINK
    texts_at = mounted.resolve() if mounted.is_symlink() else folder
    files = sorted(
        file
        for file in texts_at.iterdir()
        if file.suffix == SUFFIX and not file.name.startswith(".") and _is_text(file)
    )
    if not files:
        raise errors.InputError(where, f"has no file that ends in `{SUFFIX}`")
    return [_read_file(file, str(folder / file.name)) for file in files]


def _is_text(file: pathlib.Path) -> bool:
    """Return whether to read it; a link that leads nowhere is read, too, and that is an error."""
    return file.is_file() or (file.is_symlink() and not file.exists())


def _read_file(file: pathlib.Path, where: str) -> source.SourceText:
    return source.SourceText(where, _read_text(file, where, limits.MAX_TEXT_BYTES + 1))


def _read_stdin(max_bytes: int) -> str:
    try:
        content = sys.stdin.buffer.read(max_bytes)
    except OSError as error:
        raise _unreadable(STDIN_NAME, error) from error
    return _decoded(content, STDIN_NAME, max_bytes)


def _read_text(file: pathlib.Path, where: str, max_bytes: int) -> str:
    """Return the text of a file, cut off at `max_bytes`: the parser refuses what is so long."""
    try:
        with file.open("rb") as stream:
            content = stream.read(max_bytes)
    except OSError as error:
        raise _unreadable(where, error) from error
    return _decoded(content, where, max_bytes)


def _decoded(content: bytes, where: str, max_bytes: int) -> str:
    is_cut = len(content) == max_bytes
    try:
        return content.decode("utf-8-sig", errors="replace" if is_cut else "strict")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise errors.InputError(f"{where}:{line}", "is not UTF-8 text") from error


def _unreadable(where: str, error: OSError) -> errors.InputError:
    return errors.InputError(where, f"cannot be read: {error.strerror}")


def _read_manifest(file: pathlib.Path, where: str) -> list[source.SourceText]:
    text = _read_text(file, where, _MAX_MANIFEST_BYTES)
    maps = [
        _Manifest(each, where, text.split("\n"), document, path)
        for document in plain_yaml.load_all(text, where, with_lines=True)
        for path, each in _objects(document.value)
        if _is_config_map(each)
    ]
    if not maps:
        raise errors.InputError(
            where, "holds no ConfigMap", help=f"policies are in ConfigMaps or `{SUFFIX}` files"
        )
    if len(maps) == 1:
        return list(_policies_of(maps[0], where))
    texts: dict[str, source.SourceText] = {}
    for manifest in maps:
        named = f"{where}/{_name(manifest.config_map)}"
        for policy in _policies_of(manifest, named):
            if policy.name in texts:
                raise errors.InputError(policy.name, "this key of this ConfigMap is there twice")
            texts[policy.name] = policy
    return list(texts.values())


def _objects(value: plain_yaml.Value) -> list[tuple[plain_yaml.Path, plain_yaml.Value]]:
    """Return the items of a List, or the one object, each with its path."""
    if isinstance(value, Mapping) and value.get("kind") in _LISTS:
        items = value.get("items")
        items = items if isinstance(items, list) else []
        return [(("items", index), item) for index, item in enumerate(items)]
    return [((), value)]


def _name(config_map: Mapping[str, plain_yaml.Value]) -> str:
    """Return `namespace/name`; kubectl takes a missing namespace for `default`."""
    metadata = config_map.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name') or 'unnamed'}"


def _is_config_map(value: plain_yaml.Value) -> bool:
    return isinstance(value, Mapping) and value.get("kind") == "ConfigMap"


def _policies_of(manifest: _Manifest, where: str) -> Iterator[source.SourceText]:
    """Yield the keys that end in `.policy`; all others are somebody else's."""
    binary = manifest.config_map.get("binaryData")
    for key in policy_keys(binary if isinstance(binary, Mapping) else ()):
        # kubectl puts there what is not UTF-8; without it the others are not the whole version.
        raise errors.InputError(where, f"the key `{key}` of the ConfigMap is not UTF-8 text")
    data = manifest.config_map.get("data") or {}
    keys = [key for key in data if key.endswith(SUFFIX)] if isinstance(data, Mapping) else []
    if not keys:
        raise errors.InputError(where, f"the ConfigMap has no key that ends in `{SUFFIX}`")
    for key in keys:
        if not isinstance(data[key], str):
            raise errors.InputError(where, f"the key `{key}` of the ConfigMap is not text")
        origin = manifest.origin(key, data[key])
        yield source.SourceText(f"{where}/{key}", without_mark(data[key]), origin)


@dataclasses.dataclass(frozen=True, slots=True)
class _Manifest:
    """A ConfigMap in a file.

    Attributes:
        file: path of the file.
        lines: of the file.
        document: that the ConfigMap is in, at `path`.
    """

    config_map: Mapping[str, plain_yaml.Value]
    file: str
    lines: list[str]
    document: plain_yaml.Document
    path: plain_yaml.Path

    def origin(self, key: str, text: str) -> source.Origin:
        """Return where the text of a key begins, found by its lines: those of a literal block."""
        line = self.document.line((*self.path, "data", key))
        shown = [each.rstrip("\r") for each in text.rstrip("\n").split("\n")]
        block = [each.rstrip("\r") for each in self.lines[line : line + len(shown)]]
        first = next((index for index, each in enumerate(shown) if each), None)
        if first is None or len(block) < len(shown) or not block[first].endswith(shown[first]):
            return source.Origin(self.file, line, None)
        indent = len(block[first]) - len(shown[first])
        is_block = all(
            each[:indent].strip() == "" and each[indent:] == line_shown
            for each, line_shown in zip(block, shown, strict=True)
        )
        return (
            source.Origin(self.file, line + 1, indent)
            if is_block
            else source.Origin(self.file, line, None)
        )
