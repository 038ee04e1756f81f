"""The parts of the language that this version parses but refuses with PS110.

Remove an entry when its part is implemented. docs/language-reference.md lists the same keys.
"""

from __future__ import annotations

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics

UNSUPPORTED: dict[str, str] = {
    "storageClass": "reading the storage classes of a pod's claims",
}
"""Key -> its description, in parentheses after the key in "KEY (…) is not yet supported"."""


def diagnose_unsupported(
    key: str, span: source.Span, *, instead: str = ""
) -> diagnostics.Diagnostic:
    """Return the diagnostic for a part of the language that is not yet supported."""
    return diagnostics.Diagnostic(
        "PS110",
        f"`{key}` ({UNSUPPORTED[key]}) is not yet supported",
        span,
        help=instead or "remove it for now",
    )
