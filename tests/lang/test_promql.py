from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.lang import source
from policysched.lang.checking import checker

PARAMS = 'param range: duration = 90m\nparam share: ratio = 80%\nparam dev: string = "eth0"\n'


def _promql(query: str, given_params: dict[str, str] | None = None) -> str:
    text = f"{PARAMS}metric m: ratio = `{query}` node instance"
    result = checker.check([source.SourceText("x.policy", text)], given=given_params)
    assert result.program is not None, result.diagnostics
    return result.program.metrics[0].promql


@pytest.mark.parametrize(
    "query, written",
    [
        pytest.param("rate(x[$range])", "rate(x[1h30m])", id="duration"),
        pytest.param("x > $share", "x > 0.8", id="ratio"),
        pytest.param('x{d="$dev"}', 'x{d="eth0"}', id="string"),
        pytest.param("x{d='$dev'}", "x{d='eth0'}", id="single-quotes"),
        pytest.param('x{d=~"^$dev$"}', 'x{d=~"^eth0$"}', id="anchors"),
        pytest.param('label_replace(x, "a", "$1", "b", "")', None, id="group"),
        pytest.param('x{d="\\"$dev"}', 'x{d="\\"eth0"}', id="escaped-quote"),
        pytest.param("x # it's\n + rate(y[$range])", "x # it's\n + rate(y[1h30m])", id="comment"),
        pytest.param('x{d="#$dev"}', 'x{d="#eth0"}', id="no-comment-in-a-string"),
    ],
)
def test_params_are_put_into_queries(query: str, written: str | None) -> None:
    """Durations and numbers raw, strings within their quotes."""
    assert _promql(query) == (query if written is None else written)


@pytest.mark.parametrize(
    "value, double, single",
    [
        pytest.param('a"b', r"a\"b", 'a"b', id="double"),
        pytest.param("a'b", "a'b", r"a\'b", id="single"),
        pytest.param('\\"', r"\\\"", r'\\"', id="backslash-before-a-quote"),
        pytest.param("\\'", r"\\'", r"\\\'", id="backslash-before-a-single-quote"),
    ],
)
def test_a_quote_is_escaped_in_its_own_strings_only(value: str, double: str, single: str) -> None:
    """PromQL refuses an escaped quote of the other kind."""
    assert _promql('x{d="$dev"}', {"dev": value}) == f'x{{d="{double}"}}'
    assert _promql("x{d='$dev'}", {"dev": value}) == f"x{{d='{single}'}}"


def _go_string(text: str, quote: str) -> str:
    """Read a Go string literal up to its closing quote; it must be the whole text."""
    assert text[0] == quote
    value, position = "", 1
    while text[position] != quote:
        if text[position] != "\\":
            value += text[position]
            position += 1
            continue
        escape = text[position + 1]
        assert escape in ("U", "n", "r", "t", "\\", quote), (
            "Go has no such escape between these quotes"
        )
        if escape == "U":
            value += chr(int(text[position + 2 : position + 10], 16))
            position += 10
            continue
        value += {"n": "\n", "r": "\r", "t": "\t"}.get(escape, escape)
        position += 2
    assert position == len(text) - 1, "the string ends before its closing quote"
    return value


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["'", '"']))
def test_no_value_of_a_param_can_leave_its_quotes(value: str, quote: str) -> None:
    """Whatever is given from outside stays the value of the label that it was put into."""
    written = _promql(f"x{{d={quote}$dev{quote}}}", {"dev": value})
    assert written.startswith("x{d=")
    assert written.endswith("}")
    assert _go_string(written[4:-1], quote) == value


@pytest.mark.parametrize(
    "name, value, message",
    [
        pytest.param("rnage", "5m", "there is no param `rnage`", id="unknown"),
        pytest.param("range", "5", "`5` is not a duration", id="no-unit"),
        pytest.param("range", "5m] or vector(1)", "is not a duration", id="injection"),
        pytest.param("share", "80", "`80` is not in ratio", id="no-ratio"),
    ],
)
def test_a_given_param_is_checked_like_one_in_the_text(name: str, value: str, message: str) -> None:
    """The error points into the params that were given."""
    text = f"{PARAMS}metric m: ratio = `rate(x[$range])` node instance"
    result = checker.check([source.SourceText("x.policy", text)], given={name: value})
    assert result.program is None
    assert [message in each.message for each in result.diagnostics] == [True]
    assert result.diagnostics[0].span.file == "(params)"
