"""Check the clauses of a statement and read their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from policysched import control_characters
from policysched.lang import source
from policysched.lang.checked import activation
from policysched.lang.checking import diagnostic_collector, number_reading, timetable
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.syntax import syntax_clause, syntax_expr
from policysched.lang.words import syntax_words

MAX_WEIGHT = 100
MAX_MESSAGE = 256

_C = TypeVar("_C", bound=syntax_clause.Clause)


class ClauseSet:
    """The clauses of one statement; the constructor reports misplaced and repeated clauses.

    Args:
        env: resolves names in the clauses, and collects diagnostics.
        statement: a key of `syntax_words.ALLOWED_CLAUSES`.
        clauses: the clauses from the syntax tree.
    """

    def __init__(
        self,
        env: number_reading.NameEnvironment,
        statement: str,
        clauses: Sequence[syntax_clause.Clause],
    ) -> None:
        self.env = env
        self._by_keyword: dict[str, syntax_clause.Clause] = {}
        for clause in clauses:
            if clause.keyword not in syntax_words.ALLOWED_CLAUSES[statement]:
                _report_misplaced_clause(env.found, statement, clause)
            elif (key := _make_uniqueness_key(statement, clause)) in self._by_keyword:
                _report_repeated_clause(env.found, clause, self._by_keyword[key])
            else:
                self._by_keyword[key] = clause

    def get_clause(self, keyword: str, kind: type[_C]) -> _C | None:
        """Return the clause with this keyword, or None if the statement does not have it."""
        clause = self._by_keyword.get(keyword)
        return clause if isinstance(clause, kind) else None

    def read_weight(self) -> int | None:
        """Return the weight, by default 1; report an invalid weight and return None."""
        clause = self.get_clause("weight", syntax_clause.AmountClause)
        if clause is None:
            return 1
        return number_reading.read_whole_number(
            self.env, clause.amount, (1, MAX_WEIGHT), what="a weight", code="PS301"
        )

    def read_weight_otherwise(self) -> int | None:
        """Return the weight outside the times of `during`; None without one, or if it is wrong."""
        clause = self.get_clause("otherwise", syntax_clause.AmountClause)
        if clause is None:
            return None
        if self.get_clause("during", syntax_clause.TextClause) is None:
            self.env.found.add_error(
                "PS108",
                "`otherwise` needs `during`: it is the weight outside these times",
                clause.span,
                help="add `during`, or remove `otherwise`",
            )
            return None
        return number_reading.read_whole_number(
            self.env,
            clause.amount,
            (1, MAX_WEIGHT),
            what="a weight",
            code="PS301",
            advice_for_zero="remove `otherwise`: the rule then gives no points outside these times",
        )

    def read_whole_number(self, keyword: str, bounds: tuple[int, int]) -> tuple[bool, int | None]:
        """Return whether a clause is valid or absent, and its whole number; None if absent."""
        clause = self.get_clause(keyword, syntax_clause.AmountClause)
        if clause is None:
            return True, None
        value = number_reading.read_whole_number(self.env, clause.amount, bounds, what=keyword)
        return value is not None, value

    def read_choice(self, keyword: str, allowed: Sequence[str]) -> str | None:
        """Return the word of a clause; without the clause, the first word of `allowed`.

        A word that is not allowed is reported, and the result is None.
        """
        clause = self.get_clause(keyword, syntax_expr.WordClause)
        if clause is None:
            return allowed[0]
        if clause.word.text not in allowed:
            self.env.found.report_word_not_allowed(f"a value of `{keyword}`", clause.word, allowed)
            return None
        return clause.word.text

    def read_preemption_clause(self) -> bool:
        """Return whether the statement has `preemption never`; report another word."""
        clause = self.get_clause("preemption", syntax_expr.WordClause)
        if clause is None:
            return False
        if clause.word.text != "never":
            self.env.found.report_word_not_allowed(
                "a value of `preemption`", clause.word, ("never",)
            )
        elif self.env.target == "cluster":
            self.env.found.add_error(
                "PS108",
                "a clusterPolicy evicts no pods, so `preemption never` has no effect",
                clause.span,
                help="remove it",
            )
        return True

    def get_words_clause(self, keyword: str) -> syntax_expr.WordsClause | None:
        """Return the clause with a list of words, or None if the statement does not have it."""
        return self.get_clause(keyword, syntax_expr.WordsClause)

    def read_message(self) -> str | None:
        """Return the message, or None without one; report an invalid message."""
        clause = self.get_clause("message", syntax_clause.TextClause)
        if clause is None:
            return None
        if len(clause.text.text) > MAX_MESSAGE:
            self.env.found.add_error(
                "PS111",
                (
                    f"a message can have at most {MAX_MESSAGE} characters, this one has "
                    f"{len(clause.text.text)}"
                ),
                clause.text.span,
            )
        elif _has_invisible_characters(clause.text.text):
            self.env.found.add_error(
                "PS111",
                "a message must not contain line ends, tabs or other invisible characters",
                clause.text.span,
            )
        return clause.text.text

    def read_activation(self) -> activation.RuleActivation | None:
        """Return the times at which the rule is active; None for always. Report invalid parts."""
        windows, zone = self._read_time_windows()
        expires = self.get_clause("expires", syntax_clause.TextClause)
        expires_at = None
        if expires is not None:
            expires_at = timetable.parse_expires(expires.text.text)
            if expires_at is None:
                self.env.found.add_error(
                    "PS111",
                    f"`{expires.text.text}` is not a valid date",
                    expires.text.span,
                    help=_suggest_expires_date(expires.text.text),
                )
            elif self.env.now is not None and self.env.now >= expires_at:
                self.env.found.add_diagnostic(_diagnose_expired_rule(expires.text))
        if not windows and expires_at is None:
            return None
        return activation.RuleActivation(windows, zone, expires_at)

    def _read_time_windows(self) -> tuple[tuple[activation.TimeWindow, ...], str]:
        """Return the windows of `during` and their time zone; report an invalid text."""
        during = self.get_clause("during", syntax_clause.TextClause)
        if during is None:
            return (), timetable.UTC
        read = timetable.parse_during(during.text.text)
        if isinstance(read, str):
            self.env.found.add_error(
                "PS111", read, during.text.span, help=_suggest_time_windows(during.text.text)
            )
            return (), timetable.UTC
        return read


def _has_invisible_characters(text: str) -> bool:
    """Return whether a text has invisible characters other than those that `PS003` reports."""
    return any(
        not char.isprintable() and not control_characters.is_control_character(char)
        for char in text
    )


def _suggest_time_windows(text: str) -> str:
    near = timetable.suggest_during(text)
    return f'write `"{near}"`' if near else f"write {timetable.DURING_FORM}"


def _suggest_expires_date(text: str) -> str:
    near = timetable.suggest_expires_date(text)
    return f'write `"{near}"`' if near else f"write {timetable.EXPIRES_FORM}"


def _make_uniqueness_key(statement: str, clause: syntax_clause.Clause) -> str:
    """Return the key that a statement must not repeat; a metric's `missing score` has its own."""
    is_points = isinstance(clause, syntax_clause.MissingClause) and clause.points is not None
    return "missing score" if statement == "metric" and is_points else clause.keyword


def _report_misplaced_clause(
    found: diagnostic_collector.DiagnosticCollector, statement: str, clause: syntax_clause.Clause
) -> None:
    """Report a clause that the statement does not allow, and where it is allowed."""
    keyword = source.Span(
        clause.span.file,
        clause.span.start,
        clause.span.start + len(clause.keyword),
        clause.span.line,
        clause.span.column,
    )
    if clause.keyword == "weight":
        found.add_error(
            "PS301",
            f"`{statement}` takes no weight: it gives no points",
            keyword,
            help="remove the weight"
            + (", or write `preferred`" if statement.endswith("required") else ""),
            fix=fixes.make_replacement_fix(clause.span, ""),
        )
        return
    homes = [
        name for name, words in syntax_words.ALLOWED_CLAUSES.items() if clause.keyword in words
    ]
    found.add_error(
        "PS108",
        f"`{clause.keyword}` is not allowed in `{statement}`",
        keyword,
        help=f"it is allowed in {', '.join(homes)}",
    )


def _report_repeated_clause(
    found: diagnostic_collector.DiagnosticCollector,
    clause: syntax_clause.Clause,
    first: syntax_clause.Clause,
) -> None:
    """Report a clause that a statement has twice."""
    found.add_error(
        "PS108",
        f"`{clause.keyword}` appears twice in this statement",
        clause.span,
        secondary=(diagnostics.SpanLabel(first.span, "first here"),),
        help="keep one of them",
    )


def _diagnose_expired_rule(text: syntax_expr.Value) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS804",
        "this rule has expired and has no effect",
        text.span,
        help="remove the rule, or give it a later date",
        severity=diagnostics.Severity.WARNING,
    )
