"""What `check` says of queries: whether they parse, where not, and which labels are left."""

from __future__ import annotations

import random

import pytest

from policysched.lang import source, text_limits
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics, rendering
from tests.lang import mutation

PARAMS = 'param range: duration = 90m\nparam dev: string = "eth0"\n'
BEFORE = PARAMS + "metric m: ratio = `"
SEEDS = (
    '1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[$range]))',
    'avg by (nodename) (rate(a{d=~"$dev"}[5m]) * on (instance) group_left (nodename) node_uname)',
    "topk(5, x) by (instance) offset 5m # newest\n unless on (instance) y",
    "max_over_time((x - y)[1h:30s] @ 1600000000) > bool 1e-3",
    'label_replace(quantile(0.9, x{a="b",c!~"d|e"}) or -y ^ 2, "instance", "$1", "a", "(.*)")',
    "histogram_quantile(0.9, sum without (pod) (rate(b_bucket[5m]))) atan2 {__name__=~'a.*'}",
)


def _checked(query: str) -> checker.CheckResult:
    return checker.check([source.SourceText("x.policy", f"{BEFORE}{query}` node instance")])


@pytest.mark.parametrize(
    "marked, message",
    [
        pytest.param("sum by (a) «(»x", "`(` is not closed", id="paren"),
        pytest.param('x«{»a="b"', "`{` is not closed", id="brace"),
        pytest.param("rate(x[5m«)»", "unexpected character inside brackets", id="bracket"),
        pytest.param("sum(x)«)»", "unexpected right parenthesis", id="one-too-many"),
        pytest.param("«rate»(x)", "expected type matrix in call to function `rate`", id="matrix"),
        pytest.param("rate(x[5m]) + «rate»(y)", "expected type matrix", id="the-second"),
        pytest.param("abs(«topk»(x))", "wrong number of arguments", id="arguments"),
        pytest.param("1 - «foo»(x)", "PromQL has no function `foo`", id="function"),
        pytest.param("sum(x) by «a»", "`a` is not allowed here", id="by-without-paren"),
        pytest.param("avg by (instance) «avg»(x)", "`avg` is not allowed here", id="no-paren"),
        pytest.param("rate(x[5m]) «by» (a)", "`by` is not allowed here", id="by-of-a-function"),
        pytest.param("x «5»", "`5` is not allowed here", id="two-operands"),
        pytest.param("x «+»", "it ends too early", id="end"),
        pytest.param("x «&»& y", "unexpected character: `&`", id="sign"),
        pytest.param("x{a=«b»}", "expected string", id="unquoted"),
        pytest.param('x{a=~«"("»}', "illegal regex", id="regex"),
        pytest.param("rate(x[«5mm»])", "bad number or duration syntax", id="duration"),
        pytest.param('rate(x{d="$dev"}[$range]) «$»', "unexpected character", id="behind-params"),
        pytest.param('x{d="$dev"} + «foo»(y)', "PromQL has no function `foo`", id="after-param"),
        pytest.param("«rat»(x[$range])", "PromQL has no function `rat`", id="before-param"),
        pytest.param("x # sum(\n «5»", "`5` is not allowed here", id="comment"),
        pytest.param("x default «0»", "", id="metricsql"),
        pytest.param('x{a="b" «or» c="d"} or y{or="z"}', "is MetricsQL", id="or-of-matchers"),
        pytest.param("x{or='z'} * «1_000»", "bad number", id="digits-in-groups"),
        pytest.param("«x[$range]»", "returns a range of samples", id="range"),
        pytest.param("«scalar(x)»", "returns a single number", id="scalar"),
        pytest.param("«1 + time()»", "returns a single number", id="time"),
        pytest.param('«"$dev"»', "returns a string", id="string"),
        pytest.param("«$range»", "returns a single number", id="param-alone"),
    ],
)
def test_a_query_that_is_no_vector_is_refused_at_its_place(marked: str, message: str) -> None:
    """The caret stands under the first word that is wrong, params or not."""
    (finding,) = _checked(marked.replace("«", "").replace("»", "")).diagnostics
    assert (finding.code, finding.severity) == ("PS401", diagnostics.Severity.ERROR)
    assert message in finding.message
    if message:
        assert finding.span.start == len(BEFORE) + marked.index("«")
        assert finding.span.end == len(BEFORE) + marked.index("»") - 1


@pytest.mark.parametrize(
    "query, word, code",
    [
        pytest.param("avg(x)", "avg", "PS403", id="no-by"),
        pytest.param("avg by (zone) (x)", "avg", "PS403", id="by-another"),
        pytest.param("sum without (instance) (x)", "sum", "PS403", id="without"),
        pytest.param("x / sum(y)", "sum", "PS403", id="matched-on-all-labels"),
        pytest.param("sum(x) / y", "sum", "PS403", id="left"),
        pytest.param("x * on (zone) y", "on", "PS403", id="on-another"),
        pytest.param("x * ignoring (instance) y", "ignoring", "PS403", id="ignored"),
        pytest.param("x * on (instance) sum(y)", "sum", "PS403", id="on-what-is-gone"),
        pytest.param("sum(x) * on (job) group_left (pod) y", "sum", "PS403", id="group-left-many"),
        pytest.param("x * on (job) group_left (instance) sum(y)", "sum", "PS403", id="group-left"),
        pytest.param("topk(5, max by (zone) (x))", "max", "PS403", id="topk-of"),
        pytest.param("sum(x) or max(y)", "sum", "PS403", id="or"),
        pytest.param("sum(x) and y", "sum", "PS403", id="and"),
        pytest.param("max_over_time(sum(x)[5m:1m])", "sum", "PS403", id="subquery"),
        pytest.param("1 + vector(2)", "vector", "PS403", id="vector"),
        pytest.param('x{instance=""}', "x", "PS403", id="matcher"),
        pytest.param("avg by (instance) (x)", "", "", id="by"),
        pytest.param("sum without (cpu) (x)", "", "", id="without-another"),
        pytest.param("topk(5, x)", "", "", id="topk-keeps"),
        pytest.param("limitk by (zone) (5, x)", "", "", id="limitk-by-keeps"),
        pytest.param("x / on (instance) y", "", "", id="on"),
        pytest.param("x / ignoring (mode) sum without (mode) (y)", "", "", id="ignoring"),
        pytest.param("x * on (zone) group_left () sum by (zone) (y)", "", "", id="many"),
        pytest.param("sum by (job) (x) * on (job) group_left (instance) y", "", "", id="one"),
        pytest.param("sum by (zone) (x) * on (zone) group_right () y", "", "", id="right"),
        pytest.param("sum(x) or y", "", "", id="or-one"),
        pytest.param("y unless on () sum(x)", "", "", id="unless"),
        pytest.param("x > scalar(sum(x))", "", "", id="scalar"),
        pytest.param('label_replace(sum(x), "instance", "a", "", "")', "", "", id="label-replace"),
        pytest.param('absent(x{instance="a"})', "", "", id="absent"),
        pytest.param('count_values by (zone) ("instance", x)', "", "", id="count-values"),
        pytest.param("quantile by (instance) (scalar(sum(y)), x)", "", "", id="param-of-quantile"),
    ],
)
def test_the_label_of_nodes_has_to_be_left(query: str, word: str, code: str) -> None:
    """What provably leaves it out is named; what may keep it is not refused."""
    result = _checked(query)
    assert [each.code for each in result.diagnostics] == ([code] if code else [])
    for finding in result.diagnostics:
        place = len(BEFORE) + query.index(word)
        assert finding.span.start <= place < finding.span.end


def test_an_aggregation_without_by_gets_the_label() -> None:
    """The fix makes the query one that is taken."""
    (finding,) = _checked("1 - avg(rate(x[$range]))").diagnostics
    assert finding.fix is not None
    (edit,) = finding.fix.edits
    text = f"{BEFORE}1 - avg(rate(x[$range]))` node instance"
    fixed = text[: edit.span.start] + edit.replacement + text[edit.span.end :]
    assert checker.check([source.SourceText("x.policy", fixed)]).diagnostics == ()


@pytest.mark.parametrize(
    "query",
    [
        "rate(x[5m] smoothed)",
        "x anchored",
        "x[5m + 1m]",
        "rate(x[max(step(), 5s)])",
        "x offset (1m)",
    ],
)
def test_experiments_of_prometheus_are_warned_of_and_taken(query: str) -> None:
    """The parser does not know them; the server may."""
    result = _checked(query)
    assert [each.severity for each in result.diagnostics] == [diagnostics.Severity.WARNING]
    assert result.program is not None
    assert result.program.metrics[0].promql == query


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("(" * 30_000 + "x" + ")" * 30_000, id="parentheses"),
        pytest.param("-" * 60_000 + "x", id="signs"),
        pytest.param(" + ".join(["x"] * 500), id="sum"),
        pytest.param("abs(" * 101 + "x" + ")" * 101, id="calls"),
    ],
)
def test_a_query_beyond_the_limits_is_refused_before_it_is_parsed(query: str) -> None:
    """Deep ones would end the process: the parser recurses."""
    (finding,) = _checked(query).diagnostics
    assert finding.code == "PS004"


def test_a_query_within_the_limits_is_taken() -> None:
    """Twenty metrics of thirty words each are no trouble."""
    query = " or ".join([f'rate(node_{n}_total{{a="b"}}[5m])' for n in range(90)])
    assert len(query.split()) < text_limits.MAX_QUERY_WORDS
    assert _checked(query).diagnostics == ()


@pytest.mark.parametrize("batch", range(4))
def test_no_mutated_query_raises(batch: int) -> None:
    """Whatever stands between backticks, the answer is a program or a place within the text."""
    rng = random.Random(batch)
    refused = 0
    for _ in range(500):
        query = mutation.mutate(rng.choice(SEEDS), list(SEEDS), rng).replace("`", "'")
        result = _checked(query)
        errors = [x for x in result.diagnostics if x.severity is diagnostics.Severity.ERROR]
        assert (result.program is None) == bool(errors)
        for finding in result.diagnostics:
            assert finding.span.start >= len(BEFORE) - 1
            assert finding.span.end <= len(BEFORE) + len(query) + 1
            assert finding.code in rendering.render_diagnostic(finding, result.texts)
        refused += bool(errors)
    assert 250 < refused < 500


def test_a_param_of_a_profile_is_checked_in_the_query() -> None:
    """What a profile gives is put in as well, and an error stands at the param."""
    text = """param range: duration = 5m
metric m: ratio = `rate(x[$range])` node instance missing allow
policy p { for pods reject when m > 80% }
profile fine { policies p }
profile none { policies p param range = 0s }
"""
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert (finding.code, finding.span.line, finding.span.column) == ("PS401", 2, 27)
