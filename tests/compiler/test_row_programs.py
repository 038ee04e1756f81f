"""Rules that are asked about a node together say what each of them says alone."""

from __future__ import annotations

from typing import Any

import hypothesis
import numpy as np
import pytest

from policysched.cluster import snapshot
from policysched.compiler import row_code
from policysched.framework import cycle_state, status
from tests import builders
from tests.compiler import desk, test_reference


@hypothesis.given(test_reference.moments())
def test_rules_together_say_what_their_arrays_say(moment: test_reference.Moment) -> None:
    """Every node, bit by bit: first rejections, scores of all rules, and of some of them."""
    for framework, state in moment.states():
        plugins = [p for p in framework.profile.plugins if getattr(p, "together", None)]
        filters = [plugin for plugin in plugins if hasattr(plugin, "filter_row")]
        scores = [plugin for plugin in plugins if hasattr(plugin, "score_row")]
        for some in (filters, filters[1:], filters[:1]):
            _assert_filters_agree(some, state, moment)
        for some in (scores, scores[1:], scores[:1]):
            _assert_scores_agree(some, state, moment)


def _nodes(snap: snapshot.Snapshot) -> list[snapshot.NodeRow]:
    return [snapshot.NodeRow(snap, row) for row in np.flatnonzero(snap.is_alive).tolist()]


def _assert_filters_agree(
    plugins: list[Any], state: cycle_state.CycleState, moment: test_reference.Moment
) -> None:
    if not plugins:
        return
    info, snap = moment.info, moment.snap
    ask = plugins[0].together.filter_row(plugins)
    answers = [plugin.filter(state, info, snap.view_all_rows()) for plugin in plugins]
    for node in _nodes(snap):
        each = [answer.statuses[answer.ids[node.row]] for answer in answers]
        first = next((one for one in each if not one.is_success), status.SUCCESS)
        assert ask(state, info, node) == first


def _assert_scores_agree(
    plugins: list[Any], state: cycle_state.CycleState, moment: test_reference.Moment
) -> None:
    if not plugins:
        return
    info, snap = moment.info, moment.snap
    ask = plugins[0].together.score_row(plugins)
    scores = [plugin.score(state, info, snap.view_all_rows()) for plugin in plugins]
    for node in _nodes(snap):
        found = ask(state, info, node)
        for number, expected in zip(found, scores, strict=True):
            assert isinstance(number, int) == (expected.dtype == np.int64)
            assert np.array_equal(np.array(number), expected[node.row], equal_nan=True)


_SHARED = """policy p {
  for pods
  reject when free(cpu) / allocatable(cpu) < 10% missing allow as first
  reject when free(cpu) / allocatable(cpu) < 20% missing allow as second
  score free(cpu) / allocatable(cpu) prefer high normalize linear(0%, 100%) missing score 0 as s
}"""


def _rules(text: str) -> tuple[desk.Desk, list[Any]]:
    there = desk.Desk(text, [desk.node("n").capacity(cpu="4")])
    plugins = there.program.profiles[0].plugins
    return there, [plugin for plugin in plugins if getattr(plugin, "together", None)]


def test_what_rules_have_in_common_is_computed_once() -> None:
    """Two rules about the same quotient read and divide once."""
    _, rules = _rules(_SHARED)
    code = row_code.Writer()
    for rule in rules[:2]:
        rule.write_filter(code)
    assert code.text.count(" / ") == 1
    assert code.text.count("find(") == 1
    assert code.text.count("node.allocatable") == 1  # of it, free and allocatable


_REQUESTED = """policy p {
  for pods
  reject when free(cpu) - requests(cpu) < 1 as full
  score free(cpu) - requests(cpu) prefer high normalize minmax missing score 0 as s
}"""


def test_pods_with_other_requests_get_answers_of_their_own() -> None:
    """Answers are remembered by the amounts of nodes, for pods that request the same."""
    there, rules = _rules(_REQUESTED)
    snap = there.cache.snapshot()
    reject = rules[0].together.filter_row(rules[:1])
    score = rules[1].together.score_row(rules[1:])
    small, large = (
        there.shapes.make_info(builders.make_pod(f"p{cpu}").requests(cpu=cpu).build())
        for cpu in ("1", "4")
    )
    for _ in range(2):
        for info, passes, number in ((small, True, 3000.0), (large, False, 0.0)):
            state = cycle_state.CycleState()
            assert reject(state, info, snap.view_row(0)).is_success == passes
            assert score(state, info, snap.view_row(0)) == [number]


def test_answers_are_remembered_only_where_they_follow_from_amounts() -> None:
    """Nodes with equal amounts and other labels get answers of their own."""
    text = """policy p { for pods
      score label("gen") + 0 prefer high normalize minmax missing score 0 as s
    }"""
    nodes = [desk.node(f"n{gen}", gen=gen).capacity(cpu="4") for gen in ("1", "2")]
    there = desk.Desk(text, nodes)
    plugins = there.program.profiles[0].plugins
    rules: list[Any] = [plugin for plugin in plugins if hasattr(plugin, "together")]
    info = there.shapes.make_info(builders.make_pod("p").build())
    ask, snap = rules[0].together.score_row(rules), there.cache.snapshot()
    found = [ask(cycle_state.CycleState(), info, snap.view_row(row)) for row in range(2)]
    assert sorted(found) == [[1.0], [2.0]]


def test_nothing_of_a_policy_gets_into_the_text_of_a_function() -> None:
    """Names of rules, resources and labels come in as values, numbers too."""
    text = """policy p { for pods
      reject when free("x.io/exec.import") < 12345 or label("os.system") > 777 missing allow
        message "import os" as evil
    }"""
    _, rules = _rules(text)
    code = row_code.Writer()
    for rule in rules:
        rule.write_filter(code)
    for word in ("import", "exec", "system", "os", "evil", "12345", "777"):
        assert word not in code.text


def test_a_fault_names_the_rule_at_fault() -> None:
    """A bug that shows while rules are asked together says which of them it was."""
    there, rules = _rules(_SHARED)
    info = there.shapes.make_info(builders.make_pod("p").build())
    rules[1].condition = object()
    ask = rules[0].together.filter_row(rules[:2])
    with pytest.raises(AttributeError) as raised:
        ask(cycle_state.CycleState(), info, there.cache.snapshot().view_row(0))
    assert raised.value.__notes__ == ["while evaluating policy rule p/second at test.policy:4:3"]
