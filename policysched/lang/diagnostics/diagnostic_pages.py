"""The page of each diagnostic code: what it means and what to do about it, as Markdown."""

from __future__ import annotations

from policysched import _resources
from policysched.lang.diagnostics import diagnostics


def read_diagnostic_code_page(code: str) -> str:
    """Return the page of a known code, from its heading `# CODE: title` on.

    Codes of `check` share docs/diagnostics.md, those of `lint` have a file each in docs/lint/.

    Raises:
        MissingResourceError: the pages are not where an installation has them.
    """
    if code in diagnostics.LINT_CODES:
        return _resources.read_resource_text("docs", "lint", f"{code}.md").rstrip()
    sections = _resources.read_resource_text("docs", "diagnostics.md").split("\n## ")
    section = next(each for each in sections if each.startswith(f"{code}:"))
    return f"# {section.rstrip()}"
