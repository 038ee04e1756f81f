"""Reads ConfigMap manifests, locates their policies, and edits only the policies.

A manifest is YAML or JSON: one object, Lists, or several documents, as `helm template` and
`kustomize build` print it. A text that is a literal block (`key: |`) can be edited, because its
lines are lines of the file. Folded and quoted texts can only be located.
"""

from __future__ import annotations

import bisect
import dataclasses
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policysched import errors
from policysched.inputs import plain_yaml, yaml_scalars
from policysched.lang import source, text_limits

_POLICY_SUFFIX = ".policy"
_LISTS = ("List", "ConfigMapList")


@dataclasses.dataclass(frozen=True, slots=True)
class _ManifestConfigMap:
    """A ConfigMap in a manifest.

    Attributes:
        value: the ConfigMap.
        number: the 0-based index of its document in the text.
        path: the path of the ConfigMap in the document.
        document: the parsed document, with the positions of its values.
    """

    value: Mapping[str, Any]
    number: int
    path: plain_yaml.Path
    document: plain_yaml.YamlDocument

    @property
    def namespaced_name(self) -> str:
        """`namespace/name`; a missing namespace is `default`, as in kubectl."""
        metadata = self._metadata
        return f"{metadata.get('namespace') or 'default'}/{metadata.get('name') or 'unnamed'}"

    @property
    def written_name(self) -> str:
        """`namespace/name`, or only the name if the manifest has no namespace; "" without both."""
        name, namespace = (self._metadata.get(each) for each in ("name", "namespace"))
        return f"{namespace}/{name}" if name and namespace else str(name or "")

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations that are text; {} if there are none."""
        found = self._metadata.get("annotations")
        if not isinstance(found, Mapping):
            return {}
        return {key: value for key, value in found.items() if isinstance(value, str)}

    @property
    def _metadata(self) -> Mapping[str, Any]:
        metadata = self.value.get("metadata")
        return metadata if isinstance(metadata, Mapping) else {}

    @property
    def policy_keys(self) -> list[str]:
        """The keys that contain policies; all other keys are ignored."""
        data = self.value.get("data")
        return [key for key in data if _is_policy_key(key)] if isinstance(data, Mapping) else []

    @property
    def binary_policy_keys(self) -> list[str]:
        """The keys of policies in `binaryData`, which cannot be read because they are not text."""
        data = self.value.get("binaryData")
        return (
            sorted(key for key in data if _is_policy_key(key)) if isinstance(data, Mapping) else []
        )


@dataclasses.dataclass(frozen=True, slots=True)
class _ManifestPolicyText:
    """A policy text in a manifest: a key of a ConfigMap."""

    config_map: _ManifestConfigMap
    key: str

    @property
    def text(self) -> str:
        text: str = self.config_map.value["data"][self.key]
        return text


def read_manifest_policies(text: str, where: str) -> list[source.SourceText]:
    """Return the policies of all ConfigMaps in a manifest, with their positions in the text.

    Args:
        text: the manifest.
        where: the path of the manifest, for messages.

    Raises:
        InputError: the manifest is not YAML, or has no policies.
    """
    line_starts = _find_line_starts(text)
    return [
        source.SourceText(
            name,
            _strip_byte_order_mark(found.text),
            _make_text_origin(found, where, text, line_starts),
        )
        for name, found in _find_policy_texts(text, where).items()
    ]


def read_manifest_key(text: str, where: str, key: str) -> list[str]:
    """Return the texts of a key in those ConfigMaps of a manifest that have policies.

    Raises:
        InputError: the manifest is not YAML, or has no policies.
    """
    maps = {
        each.config_map.namespaced_name: each for each in _find_policy_texts(text, where).values()
    }
    found = (each.config_map.value["data"].get(key) for each in maps.values())
    return [each for each in found if isinstance(each, str)]


def rewrite_manifest_policies(
    text: str, where: str, changes: Sequence[tuple[source.SourceText, str]]
) -> str:
    """Return a manifest with some policies replaced and no other changes.

    Args:
        text: the manifest.
        where: the path of the manifest, for messages.
        changes: the texts from `read_manifest_policies`, with their replacements. The
            block indicator in the manifest (`|-`, `|+`) determines how a text ends.

    Raises:
        InputError: a text is not a literal block, is repeated by an alias, or would not be read
            back unchanged.
    """
    lines = text.split("\n")
    for old, new in sorted(changes, key=lambda change: -_find_literal_first_line(change[0], where)):
        first = _find_literal_first_line(old, where) - 1
        shown = _split_into_lines(old.text)
        block = lines[first : first + len(shown)]
        indent = old.origin.indent if old.origin is not None else None
        lines[first : first + len(shown)] = _render_literal_block(
            block, shown, _split_into_lines(new), " " * (indent or 0)
        )
    result = "\n".join(lines)
    _require_no_other_changes(changes, text, result, where)
    return result


# --- reading -------------------------------------------------------------------------------------


def _find_policy_texts(text: str, where: str) -> dict[str, _ManifestPolicyText]:
    """Return the policies, keyed by path, ConfigMap (if there are several) and key."""
    maps = [
        found
        for number, document in enumerate(
            plain_yaml.load_yaml_documents(text, where, with_lines=True)
        )
        for found in _find_config_maps(number, document)
    ]
    with_policies = [each for each in maps if each.policy_keys or each.binary_policy_keys]
    if not maps:
        advice = f"policies are in ConfigMaps or `{_POLICY_SUFFIX}` files"
        raise errors.InputError(where, "contains no ConfigMap", help=advice)
    if not with_policies:
        which = "the ConfigMap has no key" if len(maps) == 1 else "no ConfigMap has a key"
        raise errors.InputError(where, f"{which} that ends in `{_POLICY_SUFFIX}`")
    found: dict[str, _ManifestPolicyText] = {}
    for each in with_policies:
        folder = where if len(with_policies) == 1 else f"{where}/{each.namespaced_name}"
        for key in _list_policy_text_keys(each, where):
            name = f"{folder}/{key}"
            if name in found:
                raise errors.InputError(name, "this key appears twice in this ConfigMap")
            found[name] = _ManifestPolicyText(each, key)
    return found


def _find_config_maps(
    number: int, document: plain_yaml.YamlDocument
) -> Iterator[_ManifestConfigMap]:
    """Yield the ConfigMaps of a document, which may be a ConfigMap or a List."""
    value = document.value
    objects: list[tuple[plain_yaml.Path, plain_yaml.Value]] = [((), value)]
    if isinstance(value, Mapping) and value.get("kind") in _LISTS:
        items = value.get("items")
        objects = [(("items", n), item) for n, item in enumerate(_list_manifest_items(items))]
    for path, each in objects:
        if isinstance(each, Mapping) and each.get("kind") == "ConfigMap":
            yield _ManifestConfigMap(each, number, path, document)


def _list_manifest_items(items: plain_yaml.Value) -> list[plain_yaml.Value]:
    return items if isinstance(items, list) else []


def _list_policy_text_keys(config_map: _ManifestConfigMap, where: str) -> list[str]:
    """Return the keys of policies, and require that all are text.

    If one key were left out, the others would form a different version of the policies.
    """
    for key in config_map.binary_policy_keys:
        line = config_map.document.line((*config_map.path, "binaryData", key))
        raise errors.InputError(
            f"{where}:{line}",
            f"the key `{key}` of the ConfigMap is in `binaryData`, so it is not UTF-8 text",
            help="write the policy as text into `data`",
        )
    for key in config_map.policy_keys:
        if not isinstance(config_map.value["data"][key], str):
            line = config_map.document.line((*config_map.path, "data", key))
            problem = f"the key `{key}` of the ConfigMap is not text"
            raise errors.InputError(f"{where}:{line}", problem)
    return config_map.policy_keys


def _is_policy_key(key: str) -> bool:
    return key.endswith(_POLICY_SUFFIX)


def _strip_byte_order_mark(text: str) -> str:
    return text.removeprefix("\ufeff")


# --- places ---------------------------------------------------------------------------------------


def _make_text_origin(
    found: _ManifestPolicyText, where: str, text: str, line_starts: list[int]
) -> source.Origin:
    """Return the origin of a policy text in its manifest."""
    path = (*found.config_map.path, "data", found.key)
    document = found.config_map.document
    origin = _make_scalar_origin(document.scalars[path], found.text, where, text, line_starts)
    return dataclasses.replace(
        origin,
        is_aliased=document.is_aliased(path),
        config_map=found.config_map.written_name,
        annotations=found.config_map.annotations,
    )


def _make_scalar_origin(
    scalar: yaml_scalars.YamlScalar, value: str, where: str, text: str, line_starts: list[int]
) -> source.Origin:
    """Return the origin of a scalar in a manifest."""
    line = bisect.bisect_right(line_starts, scalar.start)
    is_too_long = (
        len(value) > text_limits.MAX_TEXT_BYTES
    )  # the manifest is refused, so positions do not matter
    if is_too_long or value.startswith("\ufeff"):  # a byte order mark shifts columns by one
        return source.Origin(where, line, None)
    indent = _measure_literal_indent(scalar, value, text, line, line_starts)
    if indent is not None:
        return source.Origin(where, line + 1, indent)
    runs = []
    for offset, index in yaml_scalars.locate_value_characters(text, scalar, value):
        at = bisect.bisect_right(line_starts, index)
        runs.append((offset, at, index - line_starts[at - 1] + 1))
    return source.Origin(where, line, None, tuple(runs))


def _measure_literal_indent(
    scalar: yaml_scalars.YamlScalar, value: str, text: str, line: int, line_starts: list[int]
) -> int | None:
    """Return the indentation of the lines in a literal block, or None for other scalars.

    The indentation is found by comparison, because an indicator or the first line may determine it.
    """
    shown = _split_into_lines(value)
    first = next((index for index, each in enumerate(shown) if each), None)
    if scalar.style != "|" or first is None or line >= len(line_starts):
        return None
    block = [each.rstrip("\r") for each in text[line_starts[line] : scalar.end].split("\n")]
    if len(block) < len(shown) or not block[first].endswith(shown[first]):
        return None
    indent = len(block[first]) - len(shown[first])
    is_literal = all(
        each[:indent].strip(" ") == "" and each[indent:] == line_shown
        for each, line_shown in zip(block, shown, strict=False)
    )
    return indent if is_literal else None


def _find_line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


# --- writing -------------------------------------------------------------------------------------


def _find_literal_first_line(text: source.SourceText, where: str) -> int:
    """Return the 1-based line of the file at which a literal block begins.

    Raises:
        InputError: the text is not a literal block, or an alias repeats it.
    """
    if text.origin is None or text.origin.indent is None:
        line = text.origin.line if text.origin is not None else 1
        raise errors.InputError(
            f"{where}:{line}",
            f"the key `{text.key}` is not a literal block and cannot be edited",
            help=f"write `{text.key}: |` and the policy below it, indented",
        )
    if text.origin.is_aliased:
        raise errors.InputError(
            f"{where}:{text.origin.line - 1}",
            f"an alias repeats the key `{text.key}`, so it cannot be edited",
            help="write the text out in place of the alias",
        )
    return text.origin.line


def _split_into_lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


def _render_literal_block(
    block: list[str], old: list[str], new: list[str], indent: str
) -> list[str]:
    """Return the lines of a literal block in the file; unchanged lines keep their form."""
    line_end = "\r" if block[0].endswith("\r") else ""
    result: list[str] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for what, start, end, new_start, new_end in matcher.get_opcodes():
        if what == "equal":
            result += block[start:end]
        else:
            result += [
                (indent + line if line else "") + line_end for line in new[new_start:new_end]
            ]
    return result


def _require_no_other_changes(
    changes: Sequence[tuple[source.SourceText, str]], before: str, after: str, where: str
) -> None:
    """Verify that a rewritten manifest differs from the original only in the changes.

    Raises:
        InputError: there is another difference.
    """
    expected = [document.value for document in plain_yaml.load_yaml_documents(before, where)]
    keys = _find_policy_texts(before, where)
    for old, new in changes:
        found = keys[old.name]
        value: Any = expected[found.config_map.number]
        for step in found.config_map.path:
            value = value[step]
        value["data"][found.key] = old.fitted(new)
    try:
        got = [document.value for document in plain_yaml.load_yaml_documents(after, where)]
    except errors.InputError:
        got = []
    if got != expected:
        problem = "the edited manifest would not contain exactly the edited policies"
        raise errors.InputError(where, problem, help="edit the manifest by hand")
