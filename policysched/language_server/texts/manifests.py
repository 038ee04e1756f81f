"""Finds the policies in the ConfigMaps of a YAML text, line by line.

The module uses no YAML parser, because a manifest is often invalid YAML while the user types. A key
contains a policy if its name ends in `.policy`, it is a direct child of `data:`, and its YAML
document has a line `kind: ConfigMap`. Only literal blocks (`key: |`) can be mapped; keys of other
styles are reported separately.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

from policysched.lang import source
from policysched.language_server.texts import embedded_policies

_KEY = re.compile(
    r"(?P<indent> *)(?P<quote>[\"']?)(?P<key>[A-Za-z0-9._-]+\.policy)(?P=quote)[ \t]*:(?P<rest>.*)"
)
_BLOCK = re.compile(r"[ \t]+\|(?P<header>[+-]?[1-9]?[+-]?)[ \t]*(?:[ \t]#.*)?")
_DATA = re.compile(r"(?:- +)?[\"']?data[\"']?[ \t]*:[ \t]*(?:&\S+[ \t]*)?(?:#.*)?")
_ANCHOR = re.compile(r"(?:^|[:-][ \t]+)&(?P<name>\S+)")
_KIND = re.compile(r"(?:- +)?[\"']?kind[\"']?[ \t]*: *[\"']?ConfigMap[\"']?[ \t]*(?:#.*)?")
_MARK = re.compile(r"(?:---|\.\.\.)(?:[ \t].*)?")


@dataclasses.dataclass(frozen=True, slots=True)
class UnmappedConfigMapKey:
    """A policy key whose value is not a literal block, or is repeated by an alias.

    Attributes:
        start: the offset of the key.
        end: the offset after the key.
    """

    key: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True, slots=True)
class _ManifestLine:
    number: int
    begin: int
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip(" "))

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


def find_embedded_policies(
    name: str, text: str
) -> tuple[list[embedded_policies.EmbeddedPolicy], list[UnmappedConfigMapKey]]:
    """Return the policies in a manifest, and the policy keys that cannot be mapped.

    Args:
        name: the name of the document; policies are named `name/key`.
        text: the text of the document.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    found: list[embedded_policies.EmbeddedPolicy] = []
    unread: list[UnmappedConfigMapKey] = []
    for document in _split_documents(_split_lines(text)):
        if not any(_KIND.fullmatch(line.text.strip()) for line in document):
            continue
        for index, match, is_aliased in _find_policy_keys(document):
            block = _BLOCK.fullmatch(match["rest"])
            begin = document[index].begin
            if block is None or is_aliased:
                place = begin + match.start("key"), begin + match.end("key")
                unread.append(UnmappedConfigMapKey(match["key"], *place))
            elif part := _make_embedded_policy(
                f"{name}/{match['key']}", document, index, match, block["header"]
            ):
                found.append(dataclasses.replace(part, line_end=line_end))
    return found, unread


def _split_lines(text: str) -> list[_ManifestLine]:
    lines = []
    begin = 0
    for number, line in enumerate(text.split("\n"), start=1):
        lines.append(_ManifestLine(number, begin, line.removesuffix("\r")))
        begin += len(line) + 1
    return lines


def _split_documents(lines: Sequence[_ManifestLine]) -> Iterator[Sequence[_ManifestLine]]:
    marks = [index for index, line in enumerate(lines) if _MARK.fullmatch(line.text)]
    for start, end in zip([-1, *marks], [*marks, len(lines)], strict=True):
        yield lines[start + 1 : end]


def _find_policy_keys(
    document: Sequence[_ManifestLine],
) -> Iterator[tuple[int, re.Match[str], bool]]:
    """Yield the lines of policy keys, and whether an alias repeats a mapping that contains the key.

    Keys inside other block scalars are left out.
    """
    inside = -1  # the indentation of the key whose block scalar contains the line
    above: list[_ManifestLine] = []  # the mappings that contain the line, outermost first
    for index, line in enumerate(document):
        if line.is_blank or (inside >= 0 and line.indent > inside):
            continue
        inside = -1
        while above and above[-1].indent >= line.indent:
            above.pop()
        match = _KEY.fullmatch(line.text)
        if match is not None and above and _DATA.fullmatch(above[-1].text.strip()):
            yield index, match, any(_is_line_aliased(each, document) for each in above)
        if re.search(r":[ \t]+[|>][+\-1-9]*[ \t]*(?:#.*)?$", line.text):
            inside = line.indent
        above.append(line)


def _is_line_aliased(line: _ManifestLine, document: Sequence[_ManifestLine]) -> bool:
    anchor = _ANCHOR.search(line.text.lstrip(" "))
    return anchor is not None and any(f"*{anchor['name']}" in each.text for each in document)


def _make_embedded_policy(
    name: str, document: Sequence[_ManifestLine], key: int, match: re.Match[str], header: str
) -> embedded_policies.EmbeddedPolicy | None:
    """Return the policy in the block of a key, or None if the block is empty."""
    outer = len(match["indent"])
    given = next((int(sign) for sign in header if sign.isdigit()), 0)
    body = list(_iterate_block_lines(document[key + 1 :], outer))
    first = next((line for line in body if not line.is_blank), None)
    if first is None:
        return None
    indent = outer + given if given else first.indent
    shown = [line.text[indent:] for line in body]
    kept = len(shown)
    while kept and not shown[kept - 1]:
        kept -= 1
    # Chomping of YAML blocks: `-` drops all trailing line breaks, `+` keeps them all, and the
    # default keeps one.
    tail = "" if "-" in header else "\n"
    if "+" in header:
        tail, kept = "\n", len(shown)
    text = "\n".join(shown[:kept]) + tail
    used = body[:kept]
    starts = tuple(line.begin + min(indent, len(line.text)) for line in used)
    end = used[-1].begin + len(used[-1].text)
    origin = source.Origin(name.rpartition("/")[0], used[0].number, indent)
    begins = tuple(line.begin for line in used)
    return embedded_policies.EmbeddedPolicy(
        source.SourceText(name, text, origin), begins, starts, end, indent
    )


def _iterate_block_lines(lines: Sequence[_ManifestLine], outer: int) -> Iterator[_ManifestLine]:
    for line in lines:
        if not line.is_blank and line.indent <= outer:
            return
        yield line
