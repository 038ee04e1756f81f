"""Check the argument of `owner(…)`."""

from __future__ import annotations

from policysched.lang.checking import diagnostic_collector
from policysched.lang.diagnostics import fixes
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import vocabulary


def report_wrong_argument(
    found: diagnostic_collector.DiagnosticCollector, subject: syntax_expr.Subject
) -> bool:
    """Report an argument other than `name`; return whether one was reported."""
    argument = subject.argument
    if argument is None or argument.text in vocabulary.OWNER_FIELDS:
        return False
    if argument.text == "kind":
        found.add_error(
            "PS104",
            f"`{found.get_text_on_one_line(subject.span)}` is a field of its own",
            subject.span,
            help="write `ownerKind`",
            fix=fixes.make_replacement_fix(subject.span, "ownerKind"),
        )
    else:
        found.report_word_not_allowed("an argument of `owner`", argument, vocabulary.OWNER_FIELDS)
    return True
