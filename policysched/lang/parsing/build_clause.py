"""Convert the parse tree to the syntax tree: clauses of statements and options of metrics."""

from __future__ import annotations

from policysched.lang import source
from policysched.lang.parsing import build_expr
from policysched.lang.syntax import syntax_clause, syntax_expr


class ClauseBuilder(build_expr.ExprBuilder):
    """Builds clauses; each method has the name of a grammar rule and builds its node."""

    def amount_clause(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_clause.AmountClause:
        """Build a clause from a keyword and an amount."""
        keyword, amount = children
        return syntax_clause.AmountClause(span, keyword.text, amount)

    def amount_option(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_clause.AmountClause:
        """Build an option of a metric from a keyword and an amount."""
        return self.amount_clause(span, children)

    def word_clause(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_expr.WordClause:
        """Build a clause from a keyword and a word."""
        keyword, word = children
        return syntax_expr.WordClause(span, keyword.text, word)

    def word_option(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_expr.WordClause:
        """Build an option of a metric from a keyword and a word."""
        return self.word_clause(span, children)

    def words_clause(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_expr.WordsClause:
        """Build a clause from a keyword and a list of words."""
        keyword, words = children
        return syntax_expr.WordsClause(span, keyword.text, words)

    def namespaces_all(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_expr.WordsClause:
        """Build `namespaces all`."""
        keyword, everything = children
        word = syntax_expr.Value(everything.span, everything.text)
        return syntax_expr.WordsClause(span, keyword.text, (word,), is_all=True)

    def namespaces_of_pod(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_expr.WordsClause:
        """Build `namespaces pod(namespace)`."""
        keyword, value = children
        return syntax_expr.WordsClause(span, keyword.text, (), of_pod=value)

    def text_clause(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_clause.TextClause:
        """Build a clause from a keyword and a string."""
        keyword, text = children
        return syntax_clause.TextClause(span, keyword.text, text)

    def namespace_selector_clause(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_expr.SelectorClause:
        """Build a clause from a keyword and a selector."""
        keyword, selector = children
        return syntax_expr.SelectorClause(span, keyword.text, selector)

    def until(self, span: source.Span, children: build_expr.Children) -> syntax_clause.ExprClause:
        """Build an `until` clause from the keyword and a condition."""
        keyword, expr = children
        return syntax_clause.ExprClause(span, keyword.text, expr)

    def fallback(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_clause.ExprClause:
        """Build an option of a metric from a keyword and an expression."""
        return self.until(span, children)

    def normalize(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_clause.NormalizeClause:
        """Build `normalize` from a method and the arguments of the method."""
        keyword, method, arguments = children
        return syntax_clause.NormalizeClause(span, keyword.text, method, arguments or ())

    def missing(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_clause.MissingClause:
        """Build `missing WORD`."""
        keyword, action = children
        return syntax_clause.MissingClause(span, keyword.text, action, None)

    def missing_score(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_clause.MissingClause:
        """Build `missing score AMOUNT`."""
        keyword, points = children
        start, end = keyword.span.end, points.span.start
        action = syntax_expr.Value(self.source.span(start, end), "score")
        return syntax_clause.MissingClause(span, keyword.text, action, points)

    def over(self, span: source.Span, children: build_expr.Children) -> syntax_clause.OverClause:
        """Build `over` from a window and a function."""
        keyword, duration, function, argument = children
        return syntax_clause.OverClause(span, keyword.text, duration, function, argument)

    def between(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_clause.BetweenClause:
        """Build `between`, the valid range of a metric."""
        keyword, low, high = children
        return syntax_clause.BetweenClause(span, keyword.text, low, high)

    def placed(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax_clause.PlacedClause:
        """Build `placed` from the load of recently placed pods and its duration."""
        keyword, expr, duration = children
        return syntax_clause.PlacedClause(span, keyword.text, expr, duration)
