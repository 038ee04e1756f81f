"""Label selectors: Kubernetes' semantics on one object, and the same on a column."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from policysched.cluster.columns import label_column
from policysched.cluster.objects import objects, selectors

Operator = selectors.LabelOperator


@pytest.mark.parametrize(
    "operator, values, absent, a, seven",
    [
        (Operator.IN, ("a", "b"), False, True, False),
        (Operator.NOT_IN, ("a", "b"), True, False, True),
        (Operator.EXISTS, (), False, True, True),
        (Operator.DOES_NOT_EXIST, (), True, False, False),
        (Operator.GT, ("6",), False, False, True),
        (Operator.GT, ("7",), False, False, False),
        (Operator.LT, ("8",), False, False, True),
        (Operator.LT, ("x",), False, False, False),
        (Operator.LT, ("1", "2"), False, False, False),
        (Operator.LT, ("9223372036854775808",), False, False, False),
    ],
    ids=str,
)
def test_requirements(
    operator: selectors.LabelOperator, values: tuple[str, ...], absent: bool, a: bool, seven: bool
) -> None:
    """An absent key matches NotIn and DoesNotExist; Gt and Lt need integers on both sides."""
    requirement = selectors.Requirement("k", operator, frozenset(values))
    assert requirement.matches_value(None) is absent
    assert requirement.matches_value("a") is a
    assert requirement.matches_value("7") is seven


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    """The two ways to leave a selector out mean the opposite."""
    assert not selectors.from_label_selector(None).matches({"a": "b"})
    assert selectors.from_label_selector(objects.LabelSelector()).matches({"a": "b"})


def test_equal_selectors_are_equal_however_they_are_written() -> None:
    """matchLabels and matchExpressions in any order have one canonical form."""
    by_labels = objects.LabelSelector(match_labels={"a": "1", "b": "2"})
    by_expressions = objects.LabelSelector(
        match_expressions=(
            objects.SelectorRequirement("b", "In", ("2",)),
            objects.SelectorRequirement("a", "In", ("1",)),
        )
    )
    canonical = selectors.from_label_selector(by_labels)
    assert canonical == selectors.from_label_selector(by_expressions)
    assert hash(canonical) == hash(selectors.from_label_selector(by_expressions))


def test_an_unknown_operator_matches_nothing() -> None:
    """What the API server would have refused is not guessed at."""
    odd = objects.LabelSelector(
        match_expressions=(objects.SelectorRequirement("a", "Like", ("1",)),)
    )
    assert selectors.from_label_selector(odd) == selectors.NOTHING


values = strategies.sampled_from(["a", "b", "", "7", "-3", "007", "x y"])
requirements = strategies.builds(
    selectors.Requirement,
    strategies.just("k"),
    strategies.sampled_from(Operator),
    strategies.frozensets(values, max_size=3),
)


@hypothesis.given(
    strategies.lists(strategies.none() | values, min_size=1, max_size=30),
    strategies.lists(requirements, min_size=1, max_size=5),
)
def test_a_column_answers_as_each_object_does(
    labels: list[str | None], asked: list[selectors.Requirement]
) -> None:
    """The mask of a column equals the scalar answer for every row, also while values are added."""
    column = label_column.LabelColumn("k", len(labels))
    for row, value in enumerate(labels):
        column.set_label_value(row, value)
        for requirement in asked:
            expected = [requirement.matches_value(v) for v in labels[: row + 1]]
            assert column.find_matching_rows(requirement, slice(0, row + 1)).tolist() == expected
    every_second = np.arange(0, len(labels), 2)
    expected = [asked[0].matches_value(labels[i]) for i in every_second]
    assert column.find_matching_rows(asked[0], every_second).tolist() == expected
