"""Render diagnostics as text for users and as JSON for programs.

error[PS001]: `Inn` is not a label operator
  --> web.policy:18:34
18 |   nodeAffinity required disktype Inn (ssd, nvme)
   |                                  ^^^ did you mean `In`?
   = help: operators are In, NotIn, Exists, DoesNotExist, Gt, Lt (also =, !=, >=, <=) [safe fix]
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from policysched import display_width
from policysched.lang import source
from policysched.lang.diagnostics import diagnostics

_UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
"""Unicode categories of invisible characters, some of which end lines or change direction."""
_MAX_SNIPPET = 160
"""Maximum characters of a source line in a snippet; longer lines would misplace the caret."""


def render_diagnostic(
    finding: diagnostics.Diagnostic, texts: Mapping[str, source.SourceText]
) -> str:
    """Render a diagnostic as lines of text, without a final line end.

    Args:
        finding: the diagnostic.
        texts: the source texts, keyed by name; a span in any other text has no snippet.
    """
    message = replace_invisible_characters(finding.message)
    lines = [
        f"{finding.severity}[{finding.code}]: {message}",
        f"  --> {_format_location(finding.span, texts)}",
    ]
    marks = [diagnostics.SpanLabel(finding.span, finding.label), *finding.secondary]
    text = texts.get(finding.span.file)
    width = max(len(str(_get_begin_position(mark.span, texts)[1])) for mark in marks)
    if text is not None:
        lines += _render_snippet(text, marks[0], "^", width)
    for mark in marks[1:]:
        lines += _render_secondary_mark(texts, mark, finding.span, width)
    gutter = " " * width
    lines += [f"{gutter} = note: {replace_invisible_characters(note)}" for note in finding.notes]
    if finding.help:
        tag = "" if finding.fix is None else f" [{'safe' if finding.fix.safe else 'unsafe'} fix]"
        lines.append(f"{gutter} = help: {replace_invisible_characters(finding.help)}{tag}")
    return "\n".join(lines)


def _render_secondary_mark(
    texts: Mapping[str, source.SourceText],
    mark: diagnostics.SpanLabel,
    primary: source.Span,
    width: int,
) -> list[str]:
    """Render a secondary span: only its marks if it is on the primary line, or else a snippet."""
    text = texts.get(mark.span.file)
    if text is None:
        return []
    if mark.span.file != primary.file:
        return [
            f"  ::: {_format_location(mark.span, texts)}",
            *_render_snippet(text, mark, "-", width),
        ]
    lines = _render_snippet(text, mark, "-", width)
    is_below = mark.span.line == primary.line and len(text.line(mark.span.line)) <= _MAX_SNIPPET
    return lines[1:] if is_below else lines  # snippets of a long line can differ


def _format_location(span: source.Span, texts: Mapping[str, source.SourceText]) -> str:
    """Return a location in a format that editors and terminals can open."""
    file, line, column = _get_begin_position(span, texts)
    return replace_invisible_characters(f"{file}:{line}:{column}")


def _get_begin_position(
    span: source.Span, texts: Mapping[str, source.SourceText]
) -> tuple[str, int, int]:
    """Return the file, line and column of a span, in the manifest if one contains the text."""
    text = texts.get(span.file)
    return text.place(span.start) if text is not None else (span.file, span.line, span.column)


def _render_snippet(
    text: source.SourceText, mark: diagnostics.SpanLabel, sign: str, width: int
) -> list[str]:
    """Render a source line and, below it, the marked range with its label."""
    line = text.line(mark.span.line)
    start = mark.span.column - 1
    end = min(max(start + mark.span.end - mark.span.start, start + 1), max(len(line), start + 1))
    cut = max(0, start - _MAX_SNIPPET // 2) if len(line) > _MAX_SNIPPET else 0
    shown = replace_invisible_characters(line[cut : cut + _MAX_SNIPPET])
    before = replace_invisible_characters(line[cut:start])
    under = replace_invisible_characters(line[start : min(end, cut + _MAX_SNIPPET)])
    padding = "".join(
        "\t" if char == "\t" else " " * display_width.count_display_columns(char) for char in before
    )
    carets = "".join(
        "\t" if char == "\t" else sign * display_width.count_display_columns(char)
        for char in under.rstrip("\t")
    )
    label = f" {replace_invisible_characters(mark.text)}" if mark.text else ""
    return [
        f"{text.place(mark.span.start)[1]:>{width}} | {shown}".rstrip(),
        f"{' ' * width} | {padding}{carets or sign}{label}",
    ]


def replace_invisible_characters(text: str) -> str:
    """Replace invisible characters, which a terminal would interpret or hide."""
    return "".join(
        char if char == "\t" or unicodedata.category(char) not in _UNSEEN else "�" for char in text
    )


def summarise_findings(findings: Sequence[diagnostics.Diagnostic]) -> str:
    """Count diagnostics by severity: "2 errors, 1 warning"."""
    counts = [
        (sum(each.severity is severity for each in findings), severity.value)
        for severity in diagnostics.Severity
    ]
    parts = [f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count]
    return ", ".join(parts)


def encode_diagnostic(
    finding: diagnostics.Diagnostic, texts: Mapping[str, source.SourceText]
) -> dict[str, Any]:
    """Encode a diagnostic in the format of schemas/check.schema.json."""
    fix = finding.fix
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "place": _encode_span_location(finding.span, texts),
        "label": finding.label,
        "secondary": [
            {"place": _encode_span_location(mark.span, texts), "text": mark.text}
            for mark in finding.secondary
        ],
        "notes": list(finding.notes),
        "help": finding.help,
        "fix": None
        if fix is None
        else {
            "safe": fix.safe,
            "edits": [
                {"place": _encode_span_location(edit.span, texts), "replacement": edit.replacement}
                for edit in fix.edits
            ],
        },
    }


def _encode_span_location(
    span: source.Span, texts: Mapping[str, source.SourceText]
) -> dict[str, Any]:
    """Encode a span with its file, lines, columns and offsets."""
    text = texts.get(span.file)
    file, line, column = _get_begin_position(span, texts)
    end_line, end_column = text.place(span.end)[1:] if text else (line, column)
    return {
        "file": file,
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
        "start": span.start,
        "end": span.end,
    }
