"""Find the Markdown page that explains a diagnostic code and how to resolve it."""

from __future__ import annotations

from policysched import _resources
from policysched.lang.diagnostics import diagnostics


def read_diagnostic_code_page(code: str) -> str:
    """Return the page of a known code, starting with the heading `# CODE: title`.

    Codes of `check` share docs/diagnostics.md; each code of `lint` has a file in docs/lint/.

    Raises:
        MissingResourceError: the installation does not contain the pages.
    """
    if code in diagnostics.LINT_CODES:
        return _resources.read_resource_text("docs", "lint", f"{code}.md").rstrip()
    sections = _resources.read_resource_text("docs", "diagnostics.md").split("\n## ")
    section = next(each for each in sections if each.startswith(f"{code}:"))
    return f"# {section.rstrip()}"
