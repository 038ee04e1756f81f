"""Documents of an editor, the policies in them, and mappings between their offsets."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence

from policysched.lang import source
from policysched.language_server.texts import embedded_policies, manifests, positions

_MANIFEST_SUFFIXES = (".yaml", ".yml")


@dataclasses.dataclass(frozen=True, slots=True)
class ContentChange:
    """The replacement of a range of a document by an editor.

    Attributes:
        start: the 0-based line and code unit; None to replace the whole document.
        end: the exclusive end of the range, in the form of `start`.
    """

    text: str
    start: tuple[int, int] | None = None
    end: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class EditorDocument:
    """A text in the state that the editor shows.

    Attributes:
        name: the path, or the URI of a document without a path.
        version: the version number that the editor assigned.
        encoding: the encoding in whose code units the editor counts columns.
        uri: the URI that the editor sent; "" for a file that is not open.
    """

    name: str
    text: str
    version: int = 0
    encoding: positions.PositionEncoding = positions.PositionEncoding.UTF_16
    uri: str = ""

    @property
    def is_manifest(self) -> bool:
        """Whether the policies of the document are in keys of ConfigMaps."""
        return self.name.endswith(_MANIFEST_SUFFIXES)

    @functools.cached_property
    def line_index(self) -> positions.LineIndex:
        """The lines of the document."""
        return positions.LineIndex(self.text, self.encoding)

    @functools.cached_property
    def _found(
        self,
    ) -> tuple[list[embedded_policies.EmbeddedPolicy], list[manifests.UnmappedConfigMapKey]]:
        """The policies, and the policy keys that cannot be mapped to the document."""
        if self.is_manifest:
            return manifests.find_embedded_policies(self.name, self.text)
        return [
            embedded_policies.EmbeddedPolicy.embed_whole_document(
                source.SourceText(self.name, self.text)
            )
        ], []

    @property
    def policies(self) -> Sequence[embedded_policies.EmbeddedPolicy]:
        """The policies, in the order of the document."""
        return self._found[0]

    @property
    def unmapped_policy_keys(self) -> Sequence[manifests.UnmappedConfigMapKey]:
        """The keys of a manifest whose policies cannot be mapped to the document."""
        return self._found[1]

    def find_policy_at(self, offset: int) -> tuple[embedded_policies.EmbeddedPolicy, int] | None:
        """Return the policy that contains an offset, and the offset in that policy."""
        for part in self.policies:
            inside = part.map_to_text(offset)
            if inside is not None:
                return part, inside
        return None

    def get_policy(self, name: str) -> embedded_policies.EmbeddedPolicy | None:
        """Return the policy named `name`, or None."""
        return next((part for part in self.policies if part.text.name == name), None)

    def apply_changes(self, changes: Sequence[ContentChange], version: int) -> EditorDocument:
        """Return the document after changes, which are applied in order."""
        text = self.text
        for change in changes:
            if change.start is None or change.end is None:
                text = change.text
                continue
            # Each change refers to the text after the previous change.
            index = positions.LineIndex(text, self.encoding)
            start, end = index.find_offset(*change.start), index.find_offset(*change.end)
            text = text[:start] + change.text + text[max(start, end) :]
        return dataclasses.replace(self, text=text, version=version)

    def apply_edits(self, edits: Sequence[embedded_policies.DocumentEdit]) -> str:
        """Return the text after applying edits that do not overlap."""
        text = self.text
        for edit in sorted(edits, key=lambda each: (each.start, each.end), reverse=True):
            text = text[: edit.start] + edit.replacement + text[edit.end :]
        return text

    def iterate_lines_in_range(
        self, part: embedded_policies.EmbeddedPolicy, start: int, end: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the line, start unit and length of each document line in a range of a policy."""
        first, _ = part.text.position(start)
        last, _ = part.text.position(end)
        for number in range(first, last + 1):
            line_start = part.text.line_start(number)
            line_end = line_start + len(part.text.line(number))
            begin, stop = max(start, line_start), min(end, line_end)
            if begin < stop:
                line, unit = self.line_index.find_position(part.map_to_document(begin))
                _, behind = self.line_index.find_position(part.map_to_document(stop))
                yield line, unit, behind - unit
