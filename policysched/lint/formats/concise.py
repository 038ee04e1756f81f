"""One line for each finding: `web.policy:3:16: PS203 warning: …`."""

from __future__ import annotations

from policysched.lint import linter
from policysched.lint.formats import file_regions


def render(report: linter.LintResult) -> str:
    """Return the findings, one per line."""
    lines = []
    for finding in report.findings:
        place = file_regions.locate_span(finding.span, report.texts)
        tag = "" if finding.fix is None else " [fix]" if finding.fix.safe else " [unsafe fix]"
        where = f"{place.file}:{place.line}:{place.column}"
        lines.append(f"{where}: {finding.code} {finding.severity}: {finding.message}{tag}")
    return "\n".join(lines)
