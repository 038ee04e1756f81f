"""What rules claim across policies, held against nodes and taints one at a time."""

from __future__ import annotations

import datetime
import itertools

from hypothesis import given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from policysched.cluster.objects import objects
from policysched.lang import source
from policysched.lang.checked import checked, checked_expr, checked_selector
from policysched.lint import linter, settings
from policysched.lint.sets import taint_patterns
from tests import examples
from tests.lint import cases
from tests.reference import policy_selectors, selector_sets

KEYS = ("pool", "cores")
WORLD = ("a", "b", "other", "1", "2", "3", "5")
NODES = list(selector_sets.objects(KEYS, WORLD))
"""Nodes with values of every kind that the requirements below tell apart."""

REQUIREMENTS = (
    *("pool = a", "pool In (a, b)", "pool NotIn (a)", "pool Exists", "pool DoesNotExist"),
    *("cores Gt 1", "cores Gt 2", "cores Lt 3", "cores Lt 2", "cores = 5"),
)
SELECTORS = st.one_of(
    st.sampled_from(REQUIREMENTS),
    st.lists(st.sampled_from(REQUIREMENTS), min_size=2, max_size=2).map(" and ".join),
    st.lists(st.sampled_from(REQUIREMENTS), min_size=2, max_size=2).map(" or ".join),
)
RULES = st.one_of(
    SELECTORS.map(lambda text: f"nodeAffinity required {text}"),
    SELECTORS.map(lambda text: f"reject when node({text})"),
    SELECTORS.map(lambda text: f"reject when pod(app = web) and not node({text})"),
)
SCOPES = ("app = web", "app = web and tier = x", "tier = x", "app Exists")


def text_of(drawn: list[tuple[str, list[str]]], extra: str = "") -> str:
    """Return policies with a scope and rules each; rules have names, so that equal ones may be."""
    policies = []
    for number, (scope, rules) in enumerate(drawn):
        body = "\n".join(f"  {rule} as r{index}" for index, rule in enumerate(rules))
        policies.append(f"policy p{number} {{\n  for pods where {scope}\n{body}\n{extra}}}\n")
    return "".join(policies)


def found(text: str, code: str) -> list[str]:
    """Return the policies in which a rule finds something."""
    result = cases.checked(text)
    findings = linter.lint_program(result, settings.LintSettings(select=(code,))).findings
    lines = text.splitlines()
    return [
        next(line.split()[1] for line in reversed(lines[: each.span.line]) if line[:6] == "policy")
        for each in findings
    ]


def passes(rule: checked.Rule, node: dict[str, str]) -> bool:
    """Return whether a rule lets a node through, for a pod with `app: web` and `tier: x`."""
    match rule:
        case checked.NodeAffinityRule(selector=selector, weight=None):
            return selector_sets.matches(selector, node)
        case checked.RejectRule(condition=condition):
            return not holds(condition, node)
        case _:
            return True


def holds(condition: object, node: dict[str, str]) -> bool:
    """Return whether a condition on a node and on that pod holds."""
    match condition:
        case checked_expr.NodeMatch(selector=selector):
            return selector_sets.matches(selector, node)
        case checked_expr.PodMatch(selector=selector):
            return selector_sets.matches(selector, {"app": "web", "tier": "x"})
        case checked_expr.Not(operand=operand):
            return not holds(operand, node)
        case checked_expr.And(operands=operands):
            return all(holds(each, node) for each in operands)
        case _:
            raise AssertionError(condition)


def program_of(text: str) -> checked.CheckedProgram:
    """Return the meaning of a text."""
    program = cases.checked(text).program
    assert program is not None
    return program


@bounds(deadline=None, max_examples=examples.scale(50))
@given(
    st.lists(
        st.tuples(st.sampled_from(SCOPES), st.lists(RULES, min_size=1, max_size=3)),
        min_size=1,
        max_size=3,
    )
)
def test_no_node_passes_what_ps213_reports(drawn: list[tuple[str, list[str]]]) -> None:
    """Where a policy is said to leave no node, every node is rejected for its pods."""
    text = text_of(drawn)
    program = program_of(text)
    covering = {
        policy.name: [
            rule
            for other, (scope, _) in zip(program.policies, drawn, strict=True)
            if set(scope.split(" and ")) <= set(drawn[number][0].split(" and ")) | {"app Exists"}
            and (scope != "app Exists" or "app" in drawn[number][0])
            for rule in other.rules
        ]
        for number, policy in enumerate(program.policies)
    }
    for name in found(text, "PS213"):
        rules = covering[name]
        assert not [node for node in NODES if all(passes(rule, node) for rule in rules)], text


@bounds(deadline=None, max_examples=examples.scale(50))
@given(
    st.lists(SELECTORS.map(lambda text: f"nodeAffinity required {text}"), min_size=1, max_size=3)
)
def test_ps213_misses_no_single_policy(rules: list[str]) -> None:
    """One policy is reported exactly if its rules that leave nodes leave none together."""
    text = text_of([("app = web", rules)])
    (policy,) = program_of(text).policies
    possible = [rule for rule in policy.rules if any(passes(rule, node) for node in NODES)]
    leaves_none = not any(all(passes(rule, node) for rule in possible) for node in NODES)
    assert bool(found(text, "PS213")) is leaves_none


@bounds(deadline=None, max_examples=examples.scale(50))
@given(st.lists(RULES, min_size=1, max_size=2), SELECTORS)
def test_ps313_reports_preferences_without_effect(rules: list[str], preferred: str) -> None:
    """Of nodes that the rules leave, all match what is preferred, or none."""
    extra = f"  nodeAffinity preferred {preferred} weight 5\n"
    text = text_of([("app = web", rules)], extra)
    (policy,) = program_of(text).policies
    *required, wanted = policy.rules
    assert isinstance(wanted, checked.NodeAffinityRule)
    if found(text, "PS313"):
        left = [node for node in NODES if all(passes(rule, node) for rule in required)]
        answers = {selector_sets.matches(wanted.selector, node) for node in left}
        assert len(answers) <= 1, text


@bounds(deadline=None, max_examples=examples.scale(50))
@given(
    SELECTORS.map(lambda text: f"nodeAffinity required {text}"),
    SELECTORS.map(lambda text: f"nodeAffinity required {text}"),
)
def test_ps204_reports_rules_without_effect(first: str, second: str) -> None:
    """A node that the rule rejects is rejected by the other part, too."""
    text = text_of([("app = web", [first, second])])
    result = cases.checked(text)
    (policy,) = program_of(text).policies
    for each in linter.lint_program(result, settings.LintSettings(select=("PS204",))).findings:
        weak, strict = policy.rules if each.span.line == 3 else policy.rules[::-1]
        assert not [node for node in NODES if passes(strict, node) and not passes(weak, node)], text


NOWHERE = source.Span("x", 0, 0, 1, 1)
PATTERNS = [
    checked_selector.TaintPattern("k", "Exists", "", effects, NOWHERE)
    for effects in (("NoSchedule",), ("NoSchedule", "PreferNoSchedule"))
] + [
    checked_selector.TaintPattern("k", operator, value, ("NoSchedule",), NOWHERE)
    for operator in ("Equal", "Gt", "Lt")
    for value in ("-1", "0", "2", "3", *(("x", "02", "") if operator == "Equal" else ()))
]
TAINTS = [
    objects.Taint(key="k", value=value, effect=effect)
    for value in ("", "x", "-2", "-1", "0", "1", "2", "02", "+2", "3", "4", str(2**63))
    for effect in ("NoSchedule", "PreferNoSchedule")
]


def test_patterns_cover_what_they_say() -> None:
    """If one pattern covers another, every taint of the second is one of the first."""
    for wide, narrow in itertools.product(PATTERNS, repeat=2):
        if taint_patterns.covers_taint_pattern(wide, narrow):
            of_narrow = [each for each in TAINTS if policy_selectors.taint_matches(narrow, each)]
            assert all(policy_selectors.taint_matches(wide, each) for each in of_narrow)
    covered = sum(
        taint_patterns.covers_taint_pattern(*pair) for pair in itertools.product(PATTERNS, repeat=2)
    )
    assert covered > len(PATTERNS)


WINDOWS = st.tuples(
    st.sampled_from(["", "Mon-Fri ", "Sat,Sun ", "Mon ", "Mon-Sun ", "Fri-Mon "]),
    st.sampled_from(["00:00", "06:30", "12:00", "20:00"]),
    st.sampled_from(["06:30", "12:00", "20:00", "24:00"]),
).map(lambda parts: f"{parts[0]}{parts[1]}-{parts[2]}")


@bounds(deadline=None, max_examples=examples.scale(40))
@given(st.lists(WINDOWS, min_size=1, max_size=4))
def test_ps805_says_always_exactly_if_it_is(windows: list[str]) -> None:
    """A `during` is said to hold at any time exactly if it does at every half hour of a week."""
    rule = f'reject when free(cpu) < 1 during "{", ".join(windows)}"'
    text = text_of([("app = web", [rule])])
    (policy,) = program_of(text).policies
    active = policy.rules[0].head.active
    assert active is not None
    monday = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
    halves = [monday + datetime.timedelta(minutes=30 * number) for number in range(7 * 48)]
    is_always = all(active.is_active(time.timestamp()) for time in halves)
    findings = linter.lint_program(
        cases.checked(text), settings.LintSettings(select=("PS805",))
    ).findings
    assert any("covers the whole week" in each.message for each in findings) is is_always


NORMALIZATIONS = st.one_of(
    st.tuples(st.integers(-20, 120), st.integers(1, 100)).map(
        lambda drawn: f"linear({drawn[0]}%, {drawn[0] + drawn[1]}%)"
    ),
    st.lists(
        st.tuples(st.integers(-20, 120), st.sampled_from([0, 50, 100])),
        min_size=2,
        max_size=4,
        unique_by=lambda point: point[0],
    ).map(lambda points: f"shape({', '.join(f'{v}%: {p}' for v, p in sorted(points))})"),
)
SHARES = [number / 40 for number in range(41)]
SCORED = "metric busy: ratio = `avg_over_time(x[5m])` node instance missing score 0\n"


def points_of(normalization: checked.Normalization | None, value: float) -> float:
    """Return the points of a value, by the formulas of docs/language-reference.md."""
    match normalization:
        case checked.LinearNormalization(low=low, high=high):
            return min(max(100 * (value - low) / (high - low), 0.0), 100.0)
        case checked.ShapeNormalization(points=points):
            for (left, start), (right, end) in itertools.pairwise(points):
                if left <= value <= right:
                    return start + (end - start) * (value - left) / (right - left)
            return float(points[0][1] if value < points[0][0] else points[-1][1])
        case _:
            raise AssertionError(normalization)


@bounds(deadline=None)
@given(NORMALIZATIONS)
def test_ps312_reports_exactly_the_scores_without_effect(normalization: str) -> None:
    """All values of a ratio get the same points exactly where that is reported."""
    prefer = "prefer high " if normalization.startswith("linear") else ""
    rule = f"score busy {prefer}normalize {normalization} weight 5"
    text = SCORED + text_of([("app = web", [rule])])
    (policy,) = program_of(text).policies
    (score,) = policy.rules
    assert isinstance(score, checked.ExpressionScoreRule)
    points = {points_of(score.normalization, share) for share in SHARES}
    assert bool(found(text, "PS312")) is (len(points) == 1)


TERMS = st.tuples(
    st.sampled_from(["self", "pods where app = web", "pods where app = db", "pods where tier = x"]),
    st.sampled_from(["zone", "rack"]),
)


@bounds(deadline=None, max_examples=examples.scale(60))
@given(TERMS, TERMS, st.sampled_from(SCOPES))
def test_ps212_reports_affinities_that_no_domain_meets(
    near: tuple[str, str], away: tuple[str, str], scope: str
) -> None:
    """It reports exactly where no pod is wanted near and not refused, in the same topology."""
    rules = [
        f"podAffinity required {near[0]} topologyKey {near[1]}",
        f"podAntiAffinity required {away[0]} topologyKey {away[1]}",
    ]
    text = text_of([(scope, rules)])
    (policy,) = program_of(text).policies
    wanted, refused = (
        policy.scope.where if each.pods.selector is None else each.pods.selector
        for each in policy.rules
        if isinstance(each, checked.PodAffinityRule)
    )
    pods = list(selector_sets.objects(("app", "tier"), ("web", "db", "x", "y")))
    is_met = any(
        selector_sets.matches(wanted, pod) and not selector_sets.matches(refused, pod)
        for pod in pods
    )
    if found(text, "PS212"):
        assert near[1] == away[1]
        assert not is_met
    else:
        assert near[1] != away[1] or is_met
