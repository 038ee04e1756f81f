"""Rules that are asked together say what each of them says alone."""

from __future__ import annotations

from typing import Any

import hypothesis
import numpy as np

from policysched.cluster import snapshot
from policysched.compiler import lowering, metric_parts
from policysched.framework import cycle_state, status
from policysched.kernels import programs
from tests import builders
from tests.compiler import desk, test_reference


@hypothesis.given(test_reference.moments())
def test_rules_together_say_what_their_arrays_say(moment: test_reference.Moment) -> None:
    """Every node, bit by bit: first rejections, scores of all rules, and of some of them."""
    for framework, state in moment.states():
        plugins = [p for p in framework.profile.plugins if getattr(p, "together", None)]
        filters = [plugin for plugin in plugins if hasattr(plugin, "filter")]
        scores = [plugin for plugin in plugins if hasattr(plugin, "score")]
        for some in (filters, filters[1:], filters[:1]):
            _assert_filters_agree(some, state, moment)
        for some in (scores, scores[1:], scores[:1]):
            _assert_scores_agree(some, state, moment)


def _views(snap: snapshot.Snapshot) -> list[snapshot.NodeView]:
    """Return all rows, and each of them alone."""
    alone = [snap.view_rows(np.array([row], np.intp)) for row in range(snap.size)]
    return [snap.view_all_rows(), *alone]


def _assert_filters_agree(
    plugins: list[Any], state: cycle_state.CycleState, moment: test_reference.Moment
) -> None:
    if not plugins:
        return
    info, snap = moment.info, moment.snap
    ask = plugins[0].together.make_filter(plugins)
    answers = [plugin.filter(state, info, snap.view_all_rows()) for plugin in plugins]
    for nodes in _views(snap):
        found = ask(state, info, nodes)
        for position, row in enumerate(nodes.row_numbers):
            each = [answer.statuses[answer.ids[row]] for answer in answers]
            first = next((one for one in each if not one.is_success), status.SUCCESS)
            assert found.statuses[found.ids[position]] == first


def _assert_scores_agree(
    plugins: list[Any], state: cycle_state.CycleState, moment: test_reference.Moment
) -> None:
    if not plugins:
        return
    info, snap = moment.info, moment.snap
    ask = plugins[0].together.make_score(plugins)
    scores = np.array([plugin.score(state, info, snap.view_all_rows()) for plugin in plugins])
    for nodes in _views(snap):
        assert np.array_equal(ask(state, info, nodes), scores[:, nodes.rows], equal_nan=True)


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
    """Two rules about the same quotient divide once."""
    there, rules = _rules(_SHARED)
    writer = lowering.Lowering(metric_parts.MetricParts(())).begin_program()
    for rule in rules[:2]:
        rule.write(writer)
    assert there.program.profiles
    operations = [operation for operation, *_ in writer.draft.code]
    assert operations.count(programs.DIVIDE) == 1
    assert operations.count(programs.FREE) == operations.count(programs.ALLOCATABLE) == 1


_REQUESTED = """policy p {
  for pods
  reject when free(cpu) - requests(cpu) < 1 as full
  score free(cpu) - requests(cpu) prefer high normalize minmax missing score 0 as s
}"""


def test_pods_with_other_requests_get_answers_of_their_own() -> None:
    """Fields of the pod are constants of its program."""
    there, rules = _rules(_REQUESTED)
    snap = there.cache.snapshot()
    reject = rules[0].together.make_filter(rules[:1])
    score = rules[1].together.make_score(rules[1:])
    small, large = (
        there.shapes.make_pod_info(builders.make_pod(f"p{cpu}").requests(cpu=cpu).build())
        for cpu in ("1", "4")
    )
    for _ in range(2):
        for info, passes, number in ((small, True, 3000.0), (large, False, 0.0)):
            state = cycle_state.CycleState()
            assert reject(state, info, snap.view_all_rows()).passes.tolist() == [passes]
            assert score(state, info, snap.view_all_rows()).tolist() == [[number]]


def test_nodes_with_other_labels_get_answers_of_their_own() -> None:
    """Also if their amounts are equal."""
    text = """policy p { for pods
      score label("gen") + 0 prefer high normalize minmax missing score 0 as s
    }"""
    nodes = [desk.node(f"n{gen}", gen=gen).capacity(cpu="4") for gen in ("1", "2")]
    there = desk.Desk(text, nodes)
    plugins = there.program.profiles[0].plugins
    rules: list[Any] = [plugin for plugin in plugins if hasattr(plugin, "together")]
    info = there.shapes.make_pod_info(builders.make_pod("p").build())
    ask, snap = rules[0].together.make_score(rules), there.cache.snapshot()
    found = ask(cycle_state.CycleState(), info, snap.view_all_rows())
    assert sorted(found[0].tolist()) == [1.0, 2.0]
