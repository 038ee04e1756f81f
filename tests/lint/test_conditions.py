from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from policysched.lang import source
from policysched.lang.checked import checked, checked_expr
from policysched.lang.checking import checker
from policysched.lint import fixing, settings
from policysched.lint.sets import ranges, rule_conditions
from tests import examples
from tests.lint import cases
from tests.reference import condition_values as reference

METRICS = """metric busy: ratio = `avg_over_time(busy_ratio[5m])` node instance missing allow
metric load: number = `avg_over_time(load[5m])` node instance between -2 and 3 missing allow
metric temp: number = `avg_over_time(temp[5m])` node instance missing allow
"""
POLICY = "policy web {{\n  for pods where app = web\n  reject when {} missing allow as rule\n}}\n"
SIGNS = (">", ">=", "<", "<=", "=", "!=")
BUSY = ("0%", "20%", "40%", "100%")
LOAD = ("-2", "0", "2", "3", "9")
ATOMS = (
    *(f"busy {sign} {value}" for sign in SIGNS for value in BUSY),
    *(f"load {sign} {value}" for sign in SIGNS for value in LOAD),
    *(f"40% {sign} busy" for sign in (">", "<=")),
    *(f"temp {sign} load" for sign in SIGNS),
    *(f"load {sign} temp" for sign in SIGNS),
    "node(pool = a)",
    "node(pool In (a, b))",
    "node(pool != a)",
    "node(pool Exists)",
    "pod(tier = x)",
    "pod(tier NotIn (x))",
)
GRID_BUSY = (0.0, 0.1, 0.2, 0.3, 0.4, 0.7, 1.0)
GRID_LOAD = (-2.0, -1.0, 0.0, 1.0, 2.0, 2.5, 3.0)
GRID_TEMP = (-3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.25, 2.5, 2.75, 3.0, 4.0)
LABELS = (None, "a", "b", "other")


def texts() -> st.SearchStrategy[str]:
    """Draw conditions, with brackets around each `and`, `or` and `not`."""
    return st.recursive(
        st.sampled_from(ATOMS),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda each: f"({' and '.join(each)})"),
            st.lists(inner, min_size=2, max_size=3).map(lambda each: f"({' or '.join(each)})"),
            inner.map(lambda each: f"(not {each})"),
        ),
        max_leaves=4,
    )


def condition(text: str) -> tuple[checked_expr.TypedExpr, rule_conditions.Metrics]:
    """Return a condition, and the metrics by key."""
    program = cases.checked(METRICS + POLICY.format(text)).program
    assert program is not None
    (rule,) = program.policies[0].rules
    assert isinstance(rule, checked.RejectRule)
    return rule.condition, {metric.key: metric for metric in program.metrics}


def leaves(expr: checked_expr.TypedExpr) -> dict[str, checked_expr.TypedExpr]:
    """Return the metrics that are read, by name."""
    found = (
        each
        for each in checked_expr.walk_expressions(expr)
        if isinstance(each, checked_expr.MetricRef)
    )
    return {each.metric: each for each in found}


def world(*exprs: checked_expr.TypedExpr) -> Iterator[reference.Values]:
    """Yield values of all kinds that the conditions tell apart."""
    read = {key: leaf for expr in exprs for key, leaf in leaves(expr).items()}
    grids = {"busy": GRID_BUSY, "load": GRID_LOAD, "temp": GRID_TEMP}
    for chosen in itertools.product(*(grids[key] for key in read)):
        numbers = dict(zip(read.values(), chosen, strict=True))
        for pool, tier in itertools.product(LABELS, (None, "x", "y")):
            node = {} if pool is None else {"pool": pool}
            pod = {} if tier is None else {"tier": tier}
            yield reference.Values(numbers, node, pod)


@bounds(deadline=None, max_examples=examples.scale(50))
@given(texts())
def test_always_is_exact(text: str) -> None:
    """A condition is said to be always true, or never, exactly if it is so for all values."""
    expr, metrics = condition(text)
    answers = {reference.holds(expr, values) for values in world(expr)}
    assert rule_conditions.evaluate_for_all_values(expr, metrics) is (
        answers.pop() if len(answers) == 1 else None
    )


@bounds(deadline=None, max_examples=examples.scale(50))
@given(texts(), texts())
def test_implies_is_exact(first: str, second: str) -> None:
    """It says so exactly if the second holds wherever the first does."""
    one, metrics = condition(first)
    other, _ = condition(second)
    holds = all(
        bool(reference.holds(other, values))
        for values in world(one, other)
        if reference.holds(one, values)
    )
    assert rule_conditions.is_implied_by_conditions([one], other, metrics) is holds


@bounds(deadline=None, max_examples=examples.scale(50))
@given(st.lists(st.sampled_from(ATOMS), min_size=2, max_size=4), st.sampled_from(["and", "or"]))
def test_leaving_out_what_says_nothing_changes_nothing(atoms: list[str], word: str) -> None:
    """The fix of PS311 keeps what a condition answers for all values."""
    text = METRICS + POLICY.format(f" {word} ".join(atoms))
    only = settings.LintSettings(select=("PS311",))
    result = cases.checked(text)
    (fixed,) = fixing.apply_fixes(list(result.texts.values()), {}, only, also_unsafe=False)
    program = cases.checked(fixed.text).program
    assert program is not None
    (rule,) = program.policies[0].rules
    assert isinstance(rule, checked.RejectRule)
    before, _ = condition(f" {word} ".join(atoms))
    for values in world(before, rule.condition):
        assert reference.holds(before, values) is reference.holds(rule.condition, values)


NUMBERS = st.recursive(
    st.sampled_from(["number(busy)", "load", "temp", "0", "1", "2.5", "(0 - 3)"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max", "mod"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
        st.tuples(st.sampled_from(["abs", "floor", "ceil"]), inner).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
    ),
    max_leaves=5,
)


@bounds(deadline=None, max_examples=examples.scale(50))
@given(
    NUMBERS,
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(-2, 3), st.floats(-1e6, 1e6)), min_size=1, max_size=20
    ),
)
def test_values_lie_within_their_range(text: str, drawn: list[tuple[float, float, float]]) -> None:
    """Whatever values are read, the result is missing or within the bounds that are claimed."""
    result = checker.check([source.SourceText("x.policy", METRICS + POLICY.format(f"{text} > 1"))])
    assume(result.program is not None)  # divisions by a constant 0 are refused
    found, metrics = condition(f"{text} > 1")
    assert isinstance(found, checked_expr.Compare)
    expr = found.left
    claimed = ranges.find_value_range(expr, metrics)
    for chosen in drawn:
        by_name = dict(zip(("busy", "load", "temp"), chosen, strict=True))
        numbers = {leaf: by_name[key] for key, leaf in leaves(expr).items()}
        value = reference.number(expr, reference.Values(numbers, {}, {}))
        assert value is None or claimed.low <= value <= claimed.high


@pytest.mark.parametrize(
    "text, low, high",
    [
        pytest.param("requests(cpu) / allocatable(cpu)", 0.0, math.inf, id="quotient"),
        pytest.param("0 * free(memory)", 0.0, 0.0, id="zero"),
        pytest.param("1 - busy", 0.0, 1.0, id="share"),
        pytest.param("busy / load", -math.inf, math.inf, id="by-what-may-be-zero"),
        pytest.param("mod(free(cpu), 1)", 0.0, 1000.0, id="rest"),
        pytest.param("max(requests(cpu), 2)", 2000.0, math.inf, id="at-least"),
        pytest.param("min(busy, 50%)", 0.0, 0.5, id="at-most"),
        pytest.param("priority", -(2.0**31), 2.0**31 - 1, id="priority"),
    ],
)
def test_ranges_of_resources(text: str, low: float, high: float) -> None:
    """Amounts that a node has or a pod asks for are not negative, in canonical scale."""
    number = f"number({text})" if "cpu" in text or "memory" in text else text
    found, metrics = condition(f"{number} > 1")
    assert isinstance(found, checked_expr.Compare)
    claimed = ranges.find_value_range(found.left, metrics)
    scale = 1000.0 if "mod" in text or "max(" in text else 1.0
    assert (claimed.low * scale, claimed.high * scale) == (low, high)


def test_conditions_over_very_much_claim_nothing() -> None:
    """What a generator wrote is not looked at for longer than a person would wait."""
    many = " or ".join(f"load > {number / 1000}" for number in range(1_000))
    expr, metrics = condition(f"({many}) and load < -2")
    assert rule_conditions.evaluate_for_all_values(expr, metrics) is None
