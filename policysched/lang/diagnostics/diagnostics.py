"""Diagnostics of the parser, the checker and lint, as data.

The catalogue (`CODES`, `LINT_CODES`) lists every code once; codes are stable and never reused.
Rendering as text and as JSON is in `policysched.lang.diagnostics.rendering`.
"""

from __future__ import annotations

import dataclasses
import enum

from policysched.lang import source


class Severity(enum.StrEnum):
    """Severity of a diagnostic; `check` reports errors and warnings, `lint` all three."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclasses.dataclass(frozen=True, slots=True)
class TextEdit:
    """Replaces the text under `span` with `replacement`; an empty span inserts."""

    span: source.Span
    replacement: str


@dataclasses.dataclass(frozen=True, slots=True)
class Fix:
    """A set of edits that removes the cause of a diagnostic.

    Attributes:
        edits: edits to apply together; they never overlap.
        safe: whether the replaced text has exactly one meaning and the new text expresses it. Only
            safe fixes are applied automatically: by `lint --fix`, by `source.fixAll`, and when an
            editor saves. A guess, a choice among several texts, or an edit that changes decisions
            is not safe.
        title: the action in words; required if the title that `fixes.make_fix_title` derives from
            the edits is not readable.
    """

    edits: tuple[TextEdit, ...]
    safe: bool
    title: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class SpanLabel:
    """A secondary span that helps to explain a diagnostic, with a short text."""

    span: source.Span
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem in a policy text, with its location and the recommended edit.

    Attributes:
        code: a key of `CODES` or `LINT_CODES`.
        message: one plain sentence in lower case without a full stop; user text is in backticks.
        span: the smallest range that shows the problem.
        label: a few words under the caret, or "".
        secondary: up to two other spans.
        notes: the relevant behaviour of Kubernetes, or the reason why the problem matters.
        help: the recommended edit in words, or "".
        fix: the same edit for tools, or None.
        severity: error by default.
    """

    code: str
    message: str
    span: source.Span
    label: str = ""
    secondary: tuple[SpanLabel, ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""
    fix: Fix | None = None
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        """Raise ValueError for a code that is not in the catalogue."""
        if self.code not in CODES and self.code not in LINT_CODES:
            raise ValueError(f"the catalogue has no diagnostic `{self.code}`")


CODES: dict[str, str] = {
    "PS001": "a word or symbol that is not allowed at this place",
    "PS002": "a word from Kubernetes manifests that has a different form in policies",
    "PS003": (
        "an unterminated string or PromQL text, or a symbol or character that is not part of "
        "this language"
    ),
    "PS004": "a text beyond the limits on size, nesting, number of statements or expansion",
    "PS101": "Gt or Lt (or their symbols) with a value that is not a whole number",
    "PS102": "a value of the wrong unit or kind",
    "PS103": "a suffix that can mean two units",
    "PS104": "a name that is not defined, or defined twice, or in terms of itself",
    "PS105": "`and` and `or` mixed without parentheses",
    "PS107": "a label key, label value or name that Kubernetes would refuse",
    "PS108": "a clause or statement that does not belong here, or appears twice",
    "PS109": "a required part of a statement is missing",
    "PS110": "a part of the language that is not yet supported",
    "PS111": "a value outside the allowed range",
    "PS112": "a PromQL text that cannot be used",
    "PS206": "a pod affinity or spread without topologyKey",
    "PS207": "a toleration that no policy can grant",
    "PS301": "a weight outside 1 to 100, or on a statement that cannot have one",
    "PS303": "a score that does not specify whether low or high is better",
    "PS304": "data that may be missing, without a `missing` clause",
    "PS305": "times of a metric that conflict with each other",
    "PS309": "an `until` that conflicts with its `when`",
    "PS401": "PromQL that does not parse, or does not give one value for each node",
    "PS403": "a query whose result cannot contain the label that names the node",
    "PS704": "a comparison that Karmada does not support for clusters",
    "PS804": "a rule that has expired",
    "PS806": "a policy that no profile uses",
    "PS807": "a character that changes the direction of text",
    "PS808": "a key or value that looks like a field, a taint effect or a missing value",
    "PS809": "a number with a leading zero",
}
"""Code -> subject in one line. `docs/diagnostics.md` has a section for each code."""

LINT_CODES: dict[str, str] = {
    "PS106": "a value that reads like a number and is compared as text",
    "PS201": "requirements that exclude each other",
    "PS202": "bounds that no number meets",
    "PS203": "a requirement without effect",
    "PS204": "a rule that a stricter rule makes redundant",
    "PS205": "scores of one profile that pull in opposite directions",
    "PS208": "NotIn or `!=` that also matches objects without the label",
    "PS209": "a required affinity that no first pod can meet",
    "PS210": "a spread that does not count the policy's own pods",
    "PS211": "a policy that may reject nodes for every pod of the cluster",
    "PS212": "a required affinity to pods that a required anti-affinity keeps away",
    "PS213": "rules for the same pods that together leave no node",
    "PS214": "a toleration of taints on nodes that another rule rejects",
    "PS215": "a toleration that another toleration includes",
    "PS216": "a `disable` without effect",
    "PS217": "a rule about preemption without effect, or rules that leave no pod to evict",
    "PS302": "a threshold that no value of the metric crosses, or that every value crosses",
    "PS306": "minmax without a floor",
    "PS307": "a weight that dominates the other scores, or hardly counts",
    "PS308": "a shape that rises and falls",
    "PS310": "a condition that is true for all values, or for none",
    "PS311": "a part of a condition that the other parts imply",
    "PS312": "a score that is the same for every node",
    "PS313": "a preference that required rules make redundant",
    "PS314": "just-placed pods that add nothing to their metric",
    "PS315": "a score that counts twice for the same pods",
    "PS402": "a query with several samples for a node",
    "PS404": "an operation on series whose labels cannot be equal",
    "PS405": "a rate of a sum",
    "PS406": "a counter that is read without `rate`",
    "PS407": "an unnecessary regular expression",
    "PS408": "a score of a query that returns only some nodes",
    "PS409": "`${name}` in a query",
    "PS410": "a hard limit on a single sample",
    "PS411": "a range that is shorter than the time between two queries",
    "PS412": "a quantile of a histogram without its buckets",
    "PS413": "a query in percent for a metric that is a ratio",
    "PS414": "a query in a different unit from its metric",
    "PS501": "a policy that leaves no node of the cluster",
    "PS502": "a label, annotation or condition that no node of the cluster has",
    "PS503": "a label value that no node of the cluster has",
    "PS504": "a policy that matches no pod of the cluster",
    "PS505": "pods of DaemonSets that a required node affinity keeps off their node",
    "PS506": "a hard rule that the cluster autoscaler ignores",
    "PS507": "pods with a schedulerName that no profile has",
    "PS508": "a taint that no node of the cluster has",
    "PS509": "a spread over more domains than the cluster has",
    "PS510": "a spread over a label that has one value on the nodes of the cluster",
    "PS511": "a required affinity to pods that the cluster does not have",
    "PS512": "a preference that all nodes of the cluster meet, or none",
    "PS513": "an anti-affinity with more pods than the cluster has domains",
    "PS514": "pods that are too large for all nodes that the rules permit",
    "PS515": "a device class, attribute or capacity that the cluster does not have",
    "PS601": "a query for series that Prometheus did not have in the lookback period",
    "PS602": "a result without exactly one series for each node",
    "PS603": "a range that contains fewer than two scrapes",
    "PS604": "a query that is expensive for the server",
    "PS605": "values that are impossible in the declared unit of a metric",
    "PS606": "a query whose result a recording rule already provides",
    "PS607": "a selector that matches no series",
    "PS608": "a rate of a gauge, or a counter without `rate`, according to the metadata",
    "PS609": "a maxAge that samples exceed before the next scrape",
    "PS610": "a range without a value after one failed scrape",
    "PS611": "a query that the server answers with an error",
    "PS612": "a query without a result although its series exist",
    "PS701": "a spread that a division by static weights ignores",
    "PS702": "a spread over regions, zones or providers without one over clusters",
    "PS703": "a spread over more groups than the policy leaves",
    "PS705": "a score of clusters that nothing uses",
    "PS706": "a weight for a cluster that the control plane does not have",
    "PS707": "a group of clusters that an earlier group contains",
    "PS801": "missing documentation, or an unused item",
    "PS802": "a text that is not in canonical form",
    "PS803": "an `ignore` that silences nothing, or gives no reason",
    "PS805": "a `during` that covers the whole week, or a redundant window in it",
    "PS810": "a profile that excludes a policy of all profiles",
}
"""Code of `policysched lint` -> subject in one line. `docs/lint/` has a page for each code."""


def make_diagnostic_sort_key(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    """Return the key for sorting diagnostics by file, position and code."""
    span = diagnostic.span
    return span.file, span.start, span.end, diagnostic.code
