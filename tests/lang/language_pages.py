"""The examples of docs/language.md (guide), docs/language-reference.md and docs/ast.md.

Fenced blocks by their info string:

    policy                a text without findings
    policy NAME.policy    the same, as a file that later commands read
    policy refused        a text with errors; the next block, `diagnostics`, shows them
    yaml NAME.yaml        a file that later commands read; also `json NAME.json`
    console               commands (`$ policysched …`), each followed by its output
    grammar KIND          lines of grammar, see `tests.lang.page_grammar`

`python -m tests.lang.language_pages` writes the present output of commands and checker into the
pages.
"""

from __future__ import annotations

import datetime
import pathlib
import re

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import rendering
from tests import page_examples

GUIDE = page_examples.DOCS / "language.md"
REFERENCE = page_examples.DOCS / "language-reference.md"
SYNTAX_TREE = page_examples.DOCS / "ast.md"
NOW_SECONDS = datetime.datetime(2026, 1, 5, tzinfo=datetime.UTC).timestamp()
"""The time at which rules of the examples have expired or not."""
_REFUSED = re.compile(
    r"^```policy refused\n(?P<text>(?:(?!```).*\n)*)```\n+```diagnostics\n(?:(?!```).*\n)*```$",
    re.MULTILINE,
)


def check_text(text: str) -> str:
    """Return the diagnostics of a policy text as `check` prints them, "" without any."""
    result = checker.check([source.SourceText("example.policy", text)], now=NOW_SECONDS)
    return "\n\n".join(
        rendering.render_diagnostic(each, result.texts) for each in result.diagnostics
    )


def update(page: pathlib.Path) -> None:
    """Write the present output of commands and checker into a page."""

    def check_again(match: re.Match[str]) -> str:
        shown = check_text(match["text"])
        return f"```policy refused\n{match['text']}```\n```diagnostics\n{shown}\n```"

    text = _REFUSED.sub(check_again, page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8")
    page_examples.update(page)


if __name__ == "__main__":
    for each in (GUIDE, REFERENCE, SYNTAX_TREE):
        update(each)
