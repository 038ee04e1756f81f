"""What the language has and this version cannot carry out: parsed, checked, refused by PS110.

One row for each; what lands deletes its row. docs/language.md lists the same keys.
"""

from __future__ import annotations

from policysched.lang import diagnostics, source

UNSUPPORTED: dict[str, str] = {
    "annotation of a node": "reading a node's annotations",
    "between": "the range of a metric",
    "cluster metric": "metrics of clusters",
    "clusterPolicy": "placement across clusters",
    "condition": "reading a node's conditions",
    "else": "a fallback where a value is missing",
    "fallback": "a fallback where a metric is missing",
    "limits": "reading a pod's limits",
    "mode shadow": "deciding beside the real decision",
    "onOutage hold": "holding pods while a metric's source is down",
    "over": "a window over a metric, kept by the scheduler",
    "placed": "what just-placed pods add to a metric",
    "source": "a choice among several metric sources",
    "storageClass": "reading the storage classes of a pod's claims",
    "until": "hysteresis of a reject",
}
"""Key -> what it is, as the subject of "… is not yet supported"."""


def refuse(key: str, span: source.Span, *, instead: str = "") -> diagnostics.Diagnostic:
    """Return the diagnostic for the use of a part that is not yet supported."""
    return diagnostics.Diagnostic(
        "PS110",
        f"`{key}` ({UNSUPPORTED[key]}) is not yet supported",
        span,
        help=instead or "leave it out for now",
    )
