"""Report times of a metric that are valid on their own but conflict with each other."""

from __future__ import annotations

from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import clauses, diagnostic_collector
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax, syntax_clause

_CODE = "PS305"
_FLICKERING_REFRESHES = 2
"""With fewer refreshes within `maxAge`, one late or failed query makes samples missing."""


def check_max_age(
    options: clauses.ClauseSet, refresh_seconds: float, max_age_seconds: float
) -> None:
    """Report a `maxAge` shorter than one refresh, and warn if it is shorter than two."""
    clause = options.get_clause("maxAge", syntax_clause.AmountClause)
    if clause is None:
        return
    found = options.env.found
    advice = (
        "write several times `refresh`, and more than the scrape interval; the default is "
        "5 times `refresh`"
    )
    if max_age_seconds < refresh_seconds:
        found.add_error(
            _CODE,
            "`maxAge` is shorter than the refresh interval",
            clause.amount.span,
            label="every sample becomes stale before the next one arrives",
            help=advice,
        )
    elif max_age_seconds < _FLICKERING_REFRESHES * refresh_seconds:
        label = "values are missing as soon as one query is late or fails"
        message = "`maxAge` is shorter than two refresh intervals"
        _add_warning(found, clause.amount.span, message, label, advice)


def warn_of_short_window(
    found: diagnostic_collector.DiagnosticCollector, span: source.Span, name: str = ""
) -> None:
    """Warn about a window with at most two samples; for a rule's window, `name` is the metric."""
    prefix = f"`{name}`: " if name else ""
    _add_warning(
        found,
        span,
        f"{prefix}the window is shorter than two refresh intervals",
        "such a window contains only one or two samples",
        "use a longer window, or remove `over`",
    )


def check_placed_duration(
    metric: checked.CheckedMetric,
    written: syntax.Metric,
    found: diagnostic_collector.DiagnosticCollector,
) -> None:
    """Warn if placed pods stop counting before a sample can contain their load."""
    if metric.placed is None or metric.placed.seconds >= metric.refresh_seconds:
        return
    for option in written.options:
        if isinstance(option, syntax_clause.PlacedClause):
            found.add_error(
                _CODE,
                "just-placed pods count for less than one refresh interval",
                option.duration.span,
                label="they stop counting before a sample can include their load",
                help="write the sum of the scrape interval, the range of the rate and `refresh`",
            )


def _add_warning(
    found: diagnostic_collector.DiagnosticCollector,
    span: source.Span,
    message: str,
    label: str,
    advice: str,
) -> None:
    """Add a warning with this module's code."""
    found.add_diagnostic(
        diagnostics.Diagnostic(
            _CODE,
            message,
            span,
            label=label,
            help=advice,
            severity=diagnostics.Severity.WARNING,
        )
    )
