from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.cluster.objects import objects
from policysched.lang import source
from policysched.lang.checked import checked, checked_selector
from policysched.lint.sets import contradictions, selector_sets
from tests.compiler import desk, strategies
from tests.reference import policy_selectors
from tests.reference import selector_sets as reference

NOWHERE = source.Span("x", 0, 0, 1, 1)
KEYS = ("a", "b")
NAMED = ("x", "y", "2", "4")
PATTERNS = ("x*", "*y", "2*", "*")
BOUNDS = ("-1", "0", "1", "2", "3", "4")
WORLD = (*NAMED, "", "other", "0", "1", "3", "5", "02", "04", "00", "01", "03", "05")
WIDE_WORLD = (*WORLD, "xx", "yy", "xy", "2x", "2y", "20", "x2", "2-y")
"""Values of every kind that requirements on NAMED and BOUNDS can tell apart."""


def requirement(
    key: str, operator: checked_selector.LabelOperator, *values: str
) -> checked_selector.LabelRequirement:
    """Return a requirement that stands nowhere."""
    return checked_selector.LabelRequirement(key, operator, tuple(sorted(values)), NOWHERE)


def sets() -> st.SearchStrategy[checked_selector.Selector]:
    """Draw In and NotIn."""
    return st.builds(
        lambda key, operator, values: requirement(key, operator, *values),
        st.sampled_from(KEYS),
        st.sampled_from(["In", "NotIn"]),
        st.sets(st.sampled_from(NAMED), min_size=1),
    )


def patterns() -> st.SearchStrategy[checked_selector.Selector]:
    """Draw In and NotIn with patterns and exact values."""
    return st.builds(
        lambda key, operator, values: requirement(key, operator, *values),
        st.sampled_from(KEYS),
        st.sampled_from(["In", "NotIn"]),
        st.sets(st.sampled_from((*NAMED, *PATTERNS)), min_size=1, max_size=3),
    )


def presences() -> st.SearchStrategy[checked_selector.Selector]:
    """Draw Exists and DoesNotExist."""
    return st.builds(
        requirement, st.sampled_from(KEYS), st.sampled_from(["Exists", "DoesNotExist"])
    )


def bounds() -> st.SearchStrategy[checked_selector.Selector]:
    """Draw Gt and Lt."""
    return st.builds(
        requirement,
        st.sampled_from(KEYS),
        st.sampled_from(["Gt", "Lt"]),
        st.sampled_from(BOUNDS),
    )


def selectors(
    *more: st.SearchStrategy[checked_selector.Selector],
) -> st.SearchStrategy[checked_selector.Selector]:
    """Draw Requirements below and, or, not."""

    def wider(
        inner: st.SearchStrategy[checked_selector.Selector],
    ) -> st.SearchStrategy[checked_selector.Selector]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            several.map(checked_selector.SelectorConjunction),
            several.map(checked_selector.SelectorDisjunction),
            inner.map(checked_selector.SelectorNegation),
        )

    return st.recursive(st.one_of(sets(), presences(), bounds(), *more), wider, max_leaves=6)


@given(selectors())
def test_never_match_is_exact(selector: checked_selector.Selector) -> None:
    """It says so exactly if no object of a world with all kinds of values matches."""
    found = [each for each in reference.objects(KEYS, WORLD) if reference.matches(selector, each)]
    assert selector_sets.can_never_match_together(selector) is (not found)


@given(selectors(), selectors())
def test_implies_is_exact(
    first: checked_selector.Selector, second: checked_selector.Selector
) -> None:
    """It says so exactly if whatever matches the first matches the second."""
    holds = all(
        reference.matches(second, each)
        for each in reference.objects(KEYS, WORLD)
        if reference.matches(first, each)
    )
    assert selector_sets.does_selector_imply(first, second) is holds


@given(selectors())
def test_a_witness_matches(selector: checked_selector.Selector) -> None:
    """There is one exactly if anything matches; labels that it leaves out may be anything."""
    member = selector_sets.find_matching_object(selector)
    assert (member is None) is selector_sets.can_never_match_together(selector)
    if member is not None:
        labels = {str(variable[1]): value for variable, value in member.items()}
        given_labels = {key: value for key, value in labels.items() if isinstance(value, str)}
        assert reference.matches(selector, given_labels)


@given(selectors(patterns()))
def test_never_match_is_sound_for_patterns(selector: checked_selector.Selector) -> None:
    """It never says so if an object matches."""
    if selector_sets.can_never_match_together(selector):
        found = [
            each
            for each in reference.objects(KEYS, WIDE_WORLD)
            if reference.matches(selector, each)
        ]
        assert not found


@given(selectors(patterns()), selectors(patterns()))
def test_implies_is_sound_for_patterns(
    first: checked_selector.Selector, second: checked_selector.Selector
) -> None:
    """It never says so if an object matches only the first."""
    if selector_sets.does_selector_imply(first, second):
        for each in reference.objects(KEYS, WIDE_WORLD):
            assert reference.matches(second, each) or not reference.matches(first, each)


def number(
    comparator: checked_selector.Comparator, value: float, resource: str | None = "cpu"
) -> checked_selector.NumberRequirement:
    """Return a bound on a request, or on the priority for None."""
    return checked_selector.NumberRequirement(resource, comparator, value, NOWHERE)


@pytest.mark.parametrize(
    "selector, is_impossible",
    [
        pytest.param((number(">", 4), number("<", 2)), True, id="apart"),
        pytest.param((number(">", 2), number("<", 4)), False, id="between"),
        pytest.param((number(">=", 2), number("<=", 2)), False, id="point"),
        pytest.param((number(">", 2), number("<=", 2)), True, id="beside-the-point"),
        pytest.param((number("<", 0),), True, id="requests-are-not-negative"),
        pytest.param((number("<", 0, None),), False, id="priorities-are"),
        pytest.param((number("=", 1), number("!=", 1)), True, id="equal-and-not"),
    ],
)
def test_numbers_are_compared_as_intervals(
    selector: tuple[checked_selector.Selector, ...], is_impossible: bool
) -> None:
    """Bounds on requests and priorities leave numbers, or none."""
    assert selector_sets.can_never_match_together(*selector) is is_impossible


@pytest.mark.parametrize(
    "one, other, is_impossible",
    [
        pytest.param(("In", ("fast",)), ("NotIn", ("fast",)), True, id="any and none"),
        pytest.param(("In", ("fast",)), ("In", ("slow",)), False, id="two claims"),
        pytest.param(("NotIn", ("fast",)), ("NotIn", ("slow",)), False, id="no claims"),
    ],
)
def test_pods_have_several_storage_classes(
    one: tuple[Any, tuple[str, ...]], other: tuple[Any, tuple[str, ...]], is_impossible: bool
) -> None:
    """One of another class does not exclude one of this class."""
    both = [
        checked_selector.FieldRequirement("storageClass", operator, values, NOWHERE)
        for operator, values in (one, other)
    ]
    assert selector_sets.can_never_match_together(*both) is is_impossible


def test_too_many_boxes_claim_nothing() -> None:
    """What would take too long to decide is taken for possible."""
    pairs = [
        checked_selector.SelectorDisjunction(
            (requirement(f"k{n}", "Exists"), requirement(f"l{n}", "Exists"))
        )
        for n in range(20)
    ]
    impossible = (requirement("z", "Exists"), requirement("z", "DoesNotExist"))
    assert not selector_sets.can_never_match_together(*pairs, *impossible)


def test_a_selector_of_many_operands_is_not_compared_pair_by_pair() -> None:
    """Of a generated selector only the whole is decided: no two operands are named."""
    many = [requirement(f"k{n}", "Exists") for n in range(2_000)]
    endless = checked_selector.SelectorConjunction((*many, requirement("k7", "DoesNotExist")))
    (found,) = contradictions.find_contradictions(endless)
    assert found.pair is None
    assert found.is_whole_selector


@pytest.mark.parametrize(
    "first, second, is_impossible",
    [
        ("condition(Ready) = True", "condition(Ready) = False", True),
        ("condition(Ready) = True", "condition(Ready) DoesNotExist", True),
        ("condition(Ready) != True", "condition(Ready) != False", False),
        ("condition(Ready) = True", "condition(Other) = False", False),
        ("annotation(x) = a", "annotation(x) = b", True),
        ("annotation(x) = a", "x = b", False),
        ('pool = "web-*"', 'pool = "db-*"', True),
        ('pool = "web-*"', 'pool = "*-web"', False),
        ('pool = "*-web"', 'pool = "*-db"', True),
        ('pool = "web-*"', "pool = web-1", False),
        ('pool = "web-*"', "pool = db-1", True),
        ('pool = "web-a*"', 'pool != "web-*"', True),
        ('pool = "web-*"', 'pool != "web-a*"', False),
        ('pool = "1*"', "pool > 5", False),
        ('pool = "*"', "pool DoesNotExist", True),
        ('pool != "*"', "pool Exists", True),
        ('nodeName = "web-*"', "nodeName In (db-1, db-2)", True),
        ('nodeName = "web-*"', "nodeName In (db-1, web-2)", False),
        ('nodeName != "web-*"', 'nodeName = "web-1*"', True),
        ('annotation(x) = "a*"', "annotation(x) = ab", True),
        ("nodeInfo(kubeletVersion) > 1.30", "nodeInfo(kubeletVersion) < 1.31", False),
        ("nodeInfo(kubeletVersion) > 1.30", "nodeInfo(kubeletVersion) < 1.31.0", False),
        ("nodeInfo(kubeletVersion) >= 1.31", "nodeInfo(kubeletVersion) < 1.31", True),
        ("nodeInfo(kubeletVersion) = 1.30", "nodeInfo(kubeletVersion) = 1.30.2", False),
        ("nodeInfo(kubeletVersion) = 1.30.1", "nodeInfo(kubeletVersion) = 1.30.2", True),
        ("nodeInfo(kubeletVersion) >= 1.30", "nodeInfo(kubeletVersion) != 1.30", False),
        ("nodeInfo(kubeletVersion) = 1.30", "nodeInfo(kubeletVersion) != 1.30", True),
    ],
)
def test_facts_of_nodes(first: str, second: str, is_impossible: bool) -> None:
    """A pre-release of 1.31 is above 1.30 and below 1.31; `*` in an annotation is itself."""
    (policy,) = desk.check(
        f"policy p {{ for pods nodeAffinity required {first} nodeAffinity required {second} }}"
    ).policies
    rules = [each for each in policy.rules if isinstance(each, checked.NodeAffinityRule)]
    both = [each.selector for each in rules]
    assert selector_sets.can_never_match_together(*both) is is_impossible


@given(strategies.node_selectors, strategies.nodes("n1"))
def test_a_selector_that_matches_a_node_is_not_impossible(
    selector: checked_selector.Selector, node: objects.Node
) -> None:
    """Whatever a selector reads of nodes."""
    if policy_selectors.node_matches(selector, node):
        assert not selector_sets.can_never_match_together(selector)
    else:
        assert not selector_sets.does_match_everything(selector)


def test_taints_are_independent() -> None:
    """A node has any number of taints of one key, so no two patterns exclude each other."""
    patterns = [
        checked_selector.TaintPattern("a", "Equal", value, ("NoSchedule",), NOWHERE)
        for value in ("x", "y")
    ]
    both = [checked_selector.TaintRequirement(each, NOWHERE) for each in patterns]
    assert not selector_sets.can_never_match_together(*both)
    assert selector_sets.can_never_match_together(
        both[0], checked_selector.SelectorNegation(both[0])
    )
