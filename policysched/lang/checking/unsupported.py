"""What the language has and this version cannot carry out: parsed, checked, refused by PS110.

One row for each; what lands deletes its row. docs/language.md lists the same keys.
"""

from __future__ import annotations

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics

UNSUPPORTED: dict[str, str] = {
    "annotation of a node": "reading a node's annotations",
    "condition": "reading a node's conditions",
    "storageClass": "reading the storage classes of a pod's claims",
}
"""Key -> what it is, as the subject of "… is not yet supported"."""


def diagnose_unsupported(
    key: str, span: source.Span, *, instead: str = ""
) -> diagnostics.Diagnostic:
    """Return the diagnostic for the use of a part that is not yet supported."""
    return diagnostics.Diagnostic(
        "PS110",
        f"`{key}` ({UNSUPPORTED[key]}) is not yet supported",
        span,
        help=instead or "leave it out for now",
    )
