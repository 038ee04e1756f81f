"""Queries of guards: the matchers of pods, and selectors that would read both versions."""

from __future__ import annotations

import itertools

import hypothesis
import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.promql import query_tree
from policysched.rollout import guard_queries
from tests import examples


def _pod(name: str, namespace: str = "shop") -> guard_queries.PodKey:
    return namespace, name


def test_variables_become_matchers() -> None:
    """Names are sorted, so that the same pods give the same query."""
    new, old = [_pod("b"), _pod("a"), _pod("a", "cart")], [_pod("c")]
    query = "sum(rate(bad{$new_pods}[5m])) / sum(rate(bad{$old_pods,code=~'5..'}[5m]))"
    assert guard_queries.fill_query(query, new, old) == (
        'sum(rate(bad{namespace=~"cart|shop",pod=~"a|b"}[5m])) / '
        'sum(rate(bad{namespace=~"shop",pod=~"c",code=~\'5..\'}[5m]))'
    )


def test_names_are_no_patterns() -> None:
    """A dot in a name is a dot; the parser undoes the escapes of the text, not of the pattern."""
    filled = guard_queries.fill_query("up{$new_pods}", [_pod("web-0.x")], [])
    assert filled == r'up{namespace=~"shop",pod=~"web\\-0\\.x"}'
    (selector,) = query_tree.list_selectors(promql_parser.parse(filled))
    values = {each.name: each.value for each in selector.matchers.matchers}
    assert values == {"namespace": "shop", "pod": r"web\-0\.x"}


def test_names_cannot_end_the_text_of_a_matcher() -> None:
    """The API server refuses such names; a query must not depend on it."""
    filled = guard_queries.fill_query("up{$new_pods}", [_pod('a"} or up{a="\\')], [])
    assert filled is not None
    (selector,) = query_tree.list_selectors(promql_parser.parse(filled))
    assert [each.name for each in selector.matchers.matchers] == ["namespace", "pod"]


@pytest.mark.parametrize(
    "query, new, old, is_filled",
    [
        ("up{$new_pods}", [_pod("a")], [], True),
        ("up{$new_pods}", [], [_pod("a")], False),
        ("up{$new_pods} / up{$old_pods}", [_pod("a")], [], False),
        ("up{$new_pods} / up{$old_pods}", [_pod("a")], [_pod("b")], True),
    ],
)
def test_a_version_without_pods_has_no_query(
    query: str, new: list[guard_queries.PodKey], old: list[guard_queries.PodKey], is_filled: bool
) -> None:
    """A matcher of no pods would be no matcher, and would read all pods."""
    assert (guard_queries.fill_query(query, new, old) is not None) is is_filled


def test_a_matcher_reads_no_pod_of_the_other_version() -> None:
    """Replicas of two StatefulSets with one name: each matcher would read both."""
    new = [_pod("db-0", "a"), _pod("web-7", "b")]
    old = [_pod("db-0", "b"), _pod("web-8", "a")]
    filled = guard_queries.fill_query("up{$new_pods}", new, old)
    assert filled == 'up{namespace=~"b",pod=~"web\\\\-7"}'
    assert guard_queries.fill_query("up{$new_pods}", new[:1], old[:1]) is not None
    assert guard_queries.fill_query("up{$new_pods}", new, [*old, _pod("web-7", "b")]) is not None


_PODS = st.lists(
    st.builds(_pod, st.sampled_from(["p", "q", "r"]), st.sampled_from(["a", "b", "c"]))
)


@hypothesis.settings(max_examples=examples.scale(200), deadline=None)
@given(new=_PODS, old=_PODS)
def test_no_matchers_meet(new: list[guard_queries.PodKey], old: list[guard_queries.PodKey]) -> None:
    """Whatever the names are: a pod is read for one version at most, the one that it has."""
    first = set(new)
    for query, others in (
        ("up{$new_pods}", set(old) - first),
        ("up{$old_pods}", first),
    ):
        filled = guard_queries.fill_query(query, new, old)
        if filled is not None:
            namespaces, names = (part.split("|") for part in filled.split('"')[1::2])
            assert others.isdisjoint(itertools.product(namespaces, names))


@pytest.mark.parametrize(
    "query",
    [
        "sum(rate(bad{$new_pods}[5m])) / sum(rate(all{$new_pods}[5m]))",
        "sum(rate(bad{$new_pods}[5m])) / sum(rate(bad{$old_pods}[5m]))",
        'max({__name__="bad",$new_pods})',
        "sum(max_over_time(rate(bad{ $new_pods , code='500' }[1m])[5m:1m])) or vector(0)",
        "scalar(sum(bad{$new_pods} offset 1m)) * (time() > bool 0)",
    ],
)
def test_accepted_queries(query: str) -> None:
    """Every selector has a variable; numbers, functions and operators need none."""
    assert guard_queries.find_query_problem(query) == ""


_NOT_NEW = "must contain `$new_pods`; otherwise it does not measure the new version"
_BOTH = (
    "must contain `$new_pods` or `$old_pods` in each selector; `{}` reads the pods of both versions"
)


@pytest.mark.parametrize(
    "query, problem",
    [
        pytest.param("sum(bad)", _BOTH.format("bad"), id="no-variable"),
        pytest.param("sum(bad{$old_pods})", _NOT_NEW, id="only-the-old-version"),
        pytest.param("vector(1)", _NOT_NEW, id="no-selector"),
        pytest.param("# $new_pods\nsum(bad{$old_pods})", _NOT_NEW, id="comment"),
        pytest.param("sum(bad{$new_pods}) / sum(all)", _BOTH.format("all"), id="bare"),
        pytest.param(
            "sum(bad{$new_pods}) / sum(rate(all{job='x'}[5m]))", _BOTH.format("all"), id="matcher"
        ),
        pytest.param(
            "sum(bad{$new_pods}) / sum({job='x'})", _BOTH.format("{…}"), id="without-a-name"
        ),
        pytest.param("sum(bad{pod=~'$new_pods'})", _BOTH.format("bad"), id="in-quotes"),
        pytest.param("sum(bad{$new_pods or job='x'})", _BOTH.format("bad"), id="alternative"),
        pytest.param("sum(bad{$new_pods}", "is not PromQL: ", id="syntax"),
        pytest.param("$new_pods", "is not PromQL: ", id="no-braces"),
        pytest.param("sum(bad{$new_pods2})", "is not PromQL: ", id="another-variable"),
    ],
)
def test_queries_that_cannot_tell_versions_apart(query: str, problem: str) -> None:
    """A selector without a variable would hide a bad version among the pods of the other."""
    found = guard_queries.find_query_problem(query)
    assert found == problem or (problem.endswith(": ") and found.startswith(problem))
    assert "\n" not in found
