"""Styles rendered findings; see `lang.diagnostics.rendering` and `lint.formats.concise`."""

from __future__ import annotations

import re

from policysched.cli.render import styles

_SEVERITIES = {"error": styles.BAD, "warning": styles.WARNING, "info": styles.NOTE}
_HEAD = re.compile(r"^(error|warning|info)(\[\w+\]): (.*)$")
_CONCISE = re.compile(r"^(.*?: )(\w+ (error|warning|info)): ")
_GUTTER = re.compile(r"^( *(?:-->|:::)| *\d* \|| += (?:help|note):)")
_MARKED = re.compile(r"(?<= \| )(\s*)(\^+.*|-+.*)$")


def apply_finding_styles(text: str) -> str:
    """Return the text with styled findings; other lines stay unchanged."""
    lines = []
    severity = styles.BAD
    for line in text.split("\n"):
        head = _HEAD.match(line)
        if head:
            severity = _SEVERITIES[head[1]]
            message = styles.mark_text_style(head[3], styles.HEADING)
            lines.append(f"{styles.mark_text_style(head[1] + head[2], severity)}: {message}")
        else:
            lines.append(_style_finding_line(line, severity))
    return "\n".join(lines)


def _style_finding_line(line: str, severity: str) -> str:
    concise = _CONCISE.match(line)
    if concise:
        word = styles.mark_text_style(concise[2], _SEVERITIES[concise[3]])
        return f"{concise[1]}{word}{line[concise.end(2) :]}"
    if line.lstrip().startswith("|"):
        line = _MARKED.sub(lambda mark: mark[1] + styles.mark_text_style(mark[2], severity), line)
    return _GUTTER.sub(lambda gutter: styles.mark_text_style(gutter[1], styles.NOTE), line)
