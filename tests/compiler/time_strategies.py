"""Generated policies about times of pods and nodes, and histories in which time passes."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st

from policysched.lang.checked import checked, checked_expr, checked_selector
from tests.compiler import strategies

conditions = st.recursive(
    st.one_of(
        strategies.time_comparisons,
        strategies.time_comparisons,
        st.builds(checked_expr.NodeMatch, strategies.node_selectors, st.just(strategies.SPAN)),
        strategies.conditions,
    ),
    lambda inner: st.one_of(
        st.builds(checked_expr.And, strategies.several(inner, least=2), st.just(strategies.SPAN)),
        st.builds(checked_expr.Or, strategies.several(inner, least=2), st.just(strategies.SPAN)),
        st.builds(checked_expr.Not, inner, st.just(strategies.SPAN)),
    ),
    max_leaves=4,
)


@st.composite
def rules(draw: st.DrawFn, name: str) -> checked.Rule:
    """Return a rule that reads times."""
    head = checked.RuleHead(name, "times", "reject", None, "", None, None, strategies.SPAN)
    condition = draw(conditions)
    if draw(st.booleans()):
        return checked.RejectRule(head, condition, draw(st.sampled_from((None, "allow", "reject"))))
    return checked.ExpressionScoreRule(
        head, condition, None, None, draw(st.sampled_from((0, 100))), draw(strategies.weights)
    )


@st.composite
def programs(draw: st.DrawFn) -> checked.CheckedProgram:
    """Return a program with one policy for all pods, in one profile."""
    count = draw(st.integers(1, 4))
    policy = checked.CheckedPolicy(
        name="times",
        mode="enforce",
        description="",
        owner="",
        scope=checked_selector.EVERY_POD,
        rules=tuple(draw(rules(f"times/r{number}")) for number in range(count)),
        disables=(),
        span=strategies.SPAN,
    )
    return strategies.program(strategies.profile("one", (policy,)))


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """Return events between which much time or little time passes."""
    seconds = st.sampled_from((0.5, 1.0, 29.0, 30.0, 270.0, 600.0))
    passing = [("time", each) for each in draw(st.lists(seconds, min_size=1, max_size=3))]
    others = draw(st.lists(strategies.events, max_size=2))
    return draw(st.permutations([*passing, *others]))
