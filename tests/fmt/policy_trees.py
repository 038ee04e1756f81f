"""Random syntax trees, so that what is printed is tested on more than people write."""

from __future__ import annotations

from hypothesis import strategies as st

from policysched.lang import source
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr

SPAN = source.Span("", 0, 0, 1, 1)
NUMERALS = st.sampled_from(["0", "5", "0.7", "80%", "5m", "4Gi", "1h30m", "1e3"])
NAMES = st.sampled_from(["a", "cpu_busy", "Hot", "_x", "weight", "score", "let"])
WORDS = st.sampled_from(
    ["app", "a-b", "k8s.io/x", "weight", "pods", "In1", "1.5", "true", "policy"]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)

names = NAMES.map(lambda text: syntax_expr.Value(SPAN, text))
strings = TEXTS.map(lambda text: syntax_expr.Value(SPAN, text, quoted=True))
words = WORDS.map(lambda text: syntax_expr.Value(SPAN, text)) | strings
values = words | WORDS.map(lambda text: syntax_expr.Value(SPAN, f"-{text}"))
numerals = NUMERALS.map(lambda text: syntax_expr.Numeral(SPAN, text))
amounts = numerals | names | NUMERALS.map(lambda text: syntax_expr.Numeral(SPAN, f"-{text}"))
bare = WORDS.map(lambda text: syntax_expr.Value(SPAN, text))


def _tuples(inner: st.SearchStrategy[object], least: int) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(inner, min_size=least, max_size=3).map(tuple)


def _requirements() -> st.SearchStrategy[object]:
    subjects = st.builds(
        syntax_expr.Subject, st.just(SPAN), bare.filter(lambda w: w.text != "In1") | strings
    ) | st.builds(syntax_expr.Subject, st.just(SPAN), bare, words)

    def build(operator: str, given: tuple[object, ...]) -> st.SearchStrategy[object]:
        return subjects.map(
            lambda subject: syntax_expr.Requirement(SPAN, subject, operator, given, SPAN)  # type: ignore[arg-type] # the strategies make what the tree takes
        )

    many = st.tuples(st.sampled_from(["In", "NotIn"]), _tuples(values, 1))
    none = st.tuples(st.sampled_from(["Exists", "DoesNotExist"]), st.just(()))
    one = st.tuples(
        st.sampled_from(["Gt", "Lt", "=", "!=", "<", "<=", ">", ">="]),
        st.tuples(values),
    )
    return (many | none | one).flatmap(lambda pair: build(*pair))


tolerations = st.one_of(
    st.builds(
        syntax_expr.Toleration,
        st.just(SPAN),
        words,
        st.sampled_from([None, "Exists"]),
        st.none(),
        st.none() | bare,
    ),
    st.builds(
        syntax_expr.Toleration,
        st.just(SPAN),
        words,
        st.sampled_from(["=", "Gt", "Lt"]),
        values,
        st.none() | bare,
    ),
)
selectors = st.recursive(
    _requirements()
    | bare.map(lambda word: syntax_expr.SelectorRef(SPAN, word))
    | tolerations.map(lambda pattern: syntax_expr.Tainted(SPAN, pattern)),
    lambda inner: st.one_of(
        _tuples(inner, 2).map(lambda parts: syntax_expr.SelectorAnd(SPAN, parts)),  # type: ignore[arg-type] # as above
        _tuples(inner, 2).map(lambda parts: syntax_expr.SelectorOr(SPAN, parts)),  # type: ignore[arg-type] # as above
        inner.map(lambda part: syntax_expr.SelectorNot(SPAN, part)),
    ),
    max_leaves=8,
)


def _numbers(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    arguments = st.builds(syntax_expr.Argument, st.just(SPAN), st.none() | inner, inner)
    return st.one_of(
        st.builds(
            syntax_expr.Binary, st.just(SPAN), st.sampled_from(["+", "-", "*", "/"]), inner, inner
        ),
        st.builds(syntax_expr.Negate, st.just(SPAN), inner),
        st.builds(syntax_expr.Else, st.just(SPAN), inner, inner),
        st.builds(syntax_expr.Call, st.just(SPAN), names, _tuples(arguments, 0)),
        st.builds(
            syntax_expr.Comparison,
            st.just(SPAN),
            st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
            inner,
            inner,
            st.just(SPAN),
        ),
        _tuples(inner, 2).map(lambda parts: syntax_expr.ExprAnd(SPAN, parts)),  # type: ignore[arg-type] # as above
        _tuples(inner, 2).map(lambda parts: syntax_expr.ExprOr(SPAN, parts)),  # type: ignore[arg-type] # as above
        inner.map(lambda part: syntax_expr.ExprNot(SPAN, part)),  # type: ignore[arg-type] # as above
    )


exprs = st.recursive(
    st.one_of(
        st.builds(syntax_expr.Number, st.just(SPAN), numerals),
        st.builds(syntax_expr.Text, st.just(SPAN), strings),
        st.builds(syntax_expr.Ref, st.just(SPAN), names),
        st.builds(syntax_expr.NodeTest, st.just(SPAN), selectors),
        st.builds(syntax_expr.PodTest, st.just(SPAN), selectors),
    ),
    _numbers,
    max_leaves=10,
)
weights = st.builds(syntax_clause.AmountClause, st.just(SPAN), st.just("weight"), amounts)
rules = st.one_of(
    st.builds(syntax.Reject, st.just(SPAN), exprs, st.just(())),
    st.builds(syntax.Score, st.just(SPAN), exprs, st.tuples(weights)),
    st.builds(
        syntax.NodeAffinity,
        st.just(SPAN),
        st.sampled_from(["required", "preferred"]),
        selectors,
        st.just(()),
    ),
)
