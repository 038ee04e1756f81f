"""Locations of findings in the file that the user edits, which can be a ConfigMap manifest."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics


@dataclasses.dataclass(frozen=True, slots=True)
class FileRegion:
    """A range of a file; lines and columns start at 1, and the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


def locate_span(span: source.Span, texts: Mapping[str, source.SourceText]) -> FileRegion:
    """Return the location of a span in the file that contains its text."""
    text = texts.get(span.file)
    if text is None:
        return FileRegion(span.file, span.line, span.column, span.line, span.column)
    file, line, column = text.place(span.start)
    _, end_line, end_column = text.place(span.end)
    return FileRegion(file, line, column, end_line, end_column)


def make_relative_path(file: str) -> str:
    """Return a path inside the current folder as a relative path, and any other path unchanged.

    CI systems expect relative paths.
    """
    path = os.path.relpath(file)
    is_below = path != os.pardir and not path.startswith(os.pardir + os.sep)
    return path.replace(os.sep, "/") if is_below else file


def locate_fix_edits(
    fix: diagnostics.Fix | None, texts: Mapping[str, source.SourceText]
) -> list[tuple[FileRegion, str]]:
    """Return the edits of a fix as edits to files; none if any of its texts is not editable."""
    found = []
    for edit in fix.edits if fix is not None else ():
        text = texts.get(edit.span.file)
        if text is not None and not text.is_editable:
            return []
        origin = text.origin if text is not None else None
        indent = " " * (origin.indent or 0) if origin is not None else ""
        replacement = edit.replacement.replace("\n", f"\n{indent}")
        found.append((locate_span(edit.span, texts), replacement))
    return found


def compute_fingerprints(
    findings: tuple[diagnostics.Diagnostic, ...], texts: Mapping[str, source.SourceText]
) -> list[str]:
    """Return a fingerprint of each finding, computed from its code, file and the text of its line.

    A fingerprint does not depend on the line number. Findings with the same code on lines
    with the same text are numbered.
    """
    seen: dict[str, int] = {}
    found = []
    for finding in findings:
        text = texts.get(finding.span.file)
        line = " ".join(text.line(finding.span.line).split()) if text is not None else ""
        file = make_relative_path(locate_span(finding.span, texts).file)
        identity = f"{finding.code}\0{file}\0{line}"
        seen[identity] = seen.get(identity, 0) + 1
        content = f"{identity}\0{seen[identity]}".encode("utf-8", "surrogatepass")
        found.append(hashlib.sha256(content).hexdigest()[:32])
    return found
