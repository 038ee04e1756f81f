"""Reads policy texts from files, folders, ConfigMap manifests and standard input.

All texts together form one namespace, like the keys of one ConfigMap.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import stat
import sys
from collections.abc import Iterable, Mapping

from policysched import errors
from policysched.lang import source, text_limits

SUFFIX = ".policy"
MOUNT_LINK = "..data"
"""The link that kubelet swaps to update a mounted ConfigMap (pkg/volume/util/atomic_writer.go)."""
STDIN = "-"
MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")
_BEGINNING = re.compile(
    r"(?:\s|#[^\n]*\n)*(?:---|%YAML|\{\s*[\"}]|[\"']?[A-Za-z]\w*[\"']?:(?:\s|$))"
)
"""The beginning of a manifest, never of a policy: a YAML marker, JSON, or a key with a colon."""
_MAX_BYTES = 8 * text_limits.MAX_TEXT_BYTES
"""The maximum number of bytes read from a file.

A manifest may contain several texts; the parser refuses a single text of this size.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class PolicySourceFile:
    """A file in the form in which users edit it.

    Attributes:
        name: the path of the file, as given.
        content: the whole content, without a byte order mark.
        texts: the policies in the file; only a manifest can contain several.
    """

    name: str
    content: str
    texts: tuple[source.SourceText, ...]

    @property
    def is_stdin(self) -> bool:
        """Whether the content was read from standard input."""
        return self.name == source.STDIN_NAME

    @property
    def is_manifest(self) -> bool:
        """Whether the texts are keys of ConfigMaps."""
        return any(text.origin is not None for text in self.texts)

    def replace_texts(self, new: Mapping[str, str]) -> str:
        """Return the content with some of `texts` replaced; `new` maps names to new texts.

        Raises:
            InputError: the file is a manifest that contains a changed text in a form that cannot be
                edited.
        """
        pairs = [(text, text.fitted(new[text.name])) for text in self.texts if text.name in new]
        changes = [(old, text) for old, text in pairs if text != old.text]
        if not changes:
            return self.content
        if changes[0][0].origin is None:
            return changes[0][1]
        from policysched.inputs import manifests  # noqa: PLC0415 - imports a YAML parser

        return manifests.rewrite_manifest_policies(self.content, self.name, changes)


def read_policy_texts(paths: Iterable[str]) -> list[source.SourceText]:
    """Return the policy texts at `paths`: `.policy` files, folders of them, ConfigMap manifests.

    `-` is standard input. A path that is given twice is read once.

    Raises:
        InputError: a path cannot be read, or contains no policy text.
        UsageError: a path is empty.
    """
    return [text for file in read_policy_files(paths) for text in file.texts]


def read_policy_files(paths: Iterable[str]) -> list[PolicySourceFile]:
    """Return the files at `paths`; see `read_policy_texts`.

    Raises:
        InputError: a path cannot be read, or contains no policy text.
        UsageError: a path is empty.
    """
    found = (file for path in dict.fromkeys(paths) for file in _read_policy_path(path))
    return list({file.name: file for file in found}.values())


def parse_policy_content(content: bytes, where: str) -> PolicySourceFile:
    """Parse the content of a file; see `parse_policy_file`.

    Raises:
        InputError: the content is not text, or is a manifest without policies.
    """
    return parse_policy_file(_decode_policy_text(content, where), where)


def is_readable_only_once(where: str) -> bool:
    """Return whether a path can be read only once: standard input, or a pipe such as `<(...)`."""
    if where == STDIN:
        return True
    try:
        mode = pathlib.Path(where).stat().st_mode
    except OSError:  # the file may not exist yet; its reader reports other failures
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def list_policy_keys(keys: Iterable[str]) -> list[str]:
    """Return the sorted keys of a ConfigMap that contain policies; other keys are ignored."""
    return sorted(key for key in keys if key.endswith(SUFFIX))


def strip_byte_order_mark(text: str) -> str:
    """Return a text from a ConfigMap without its byte order mark, as reading a file does."""
    return text.removeprefix("\ufeff")


def _read_policy_path(where: str) -> list[PolicySourceFile]:
    """Return the files at one path: standard input, a folder or a file."""
    if not where:
        raise errors.UsageError("a path of policies is empty; `.` is the current folder")
    if where == STDIN:
        return [parse_policy_file(_read_stdin(), source.STDIN_NAME)]
    path = pathlib.Path(where)
    try:
        if path.is_dir():
            return _read_policy_folder(path, where)
    except OSError as error:
        raise _make_unreadable_error(where, error) from error
    return [parse_policy_file(_read_text(path, where), where)]


def parse_policy_file(content: str, where: str) -> PolicySourceFile:
    """Parse the content of a file, which is a policy or a manifest.

    The suffix of the name determines which; without a known suffix (standard input, a pipe), the
    beginning of the text does.

    Raises:
        InputError: the file is a manifest without policies, or is not YAML.
    """
    may_be_manifest = where.endswith(MANIFEST_SUFFIXES) or not where.endswith(SUFFIX)
    if may_be_manifest and (where.endswith(MANIFEST_SUFFIXES) or _BEGINNING.match(content)):
        from policysched.inputs import manifests  # noqa: PLC0415 - imports a YAML parser

        return PolicySourceFile(
            where, content, tuple(manifests.read_manifest_policies(content, where))
        )
    return PolicySourceFile(where, content, (source.SourceText(where, content),))


def _read_policy_folder(folder: pathlib.Path, where: str) -> list[PolicySourceFile]:
    """Return the policy files of a folder, sorted by name.

    All policies of a mounted ConfigMap are read from the current target of `..data`: kubelet may
    swap the link while the files are read, but never changes a target.
    """
    mounted = folder / MOUNT_LINK
    texts_at = mounted.resolve() if mounted.is_symlink() else folder
    files = sorted(
        file
        for file in texts_at.iterdir()
        if file.suffix == SUFFIX and not file.name.startswith(".") and _is_policy_file(file)
    )
    if not files:
        raise errors.InputError(where, f"has no file that ends in `{SUFFIX}`")
    return [_read_file(file, str(folder / file.name)) for file in files]


def _is_policy_file(file: pathlib.Path) -> bool:
    """Return whether to read a file; broken links are read, so that they cause an error."""
    return file.is_file() or (file.is_symlink() and not file.exists())


def _read_file(file: pathlib.Path, where: str) -> PolicySourceFile:
    content = _read_text(file, where)
    return PolicySourceFile(where, content, (source.SourceText(where, content),))


def _read_stdin() -> str:
    try:
        content = sys.stdin.buffer.read(_MAX_BYTES + 1)
    except OSError as error:
        raise _make_unreadable_error(source.STDIN_NAME, error) from error
    return _decode_policy_text(content, source.STDIN_NAME)


def _read_text(file: pathlib.Path, where: str) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise _make_unreadable_error(where, error) from error
    return _decode_policy_text(content, where)


def _decode_policy_text(content: bytes, where: str) -> str:
    if len(content) > _MAX_BYTES:
        raise errors.InputError(where, f"has more than {_MAX_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise errors.InputError(f"{where}:{line}", "is not UTF-8 text") from error


def _make_unreadable_error(where: str, error: OSError) -> errors.InputError:
    return errors.InputError(where, f"cannot be read: {error.strerror}")
