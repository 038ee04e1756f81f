"""Conditions found by a label that they require: none that a pod meets is left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policysched.cluster import count_column
from policysched.cluster.counters import count_columns_by_label, placed_shapes, pod_counts
from policysched.cluster.objects import selectors
from policysched.cluster.pods import pod_shape
from tests import builders

KEYS = ("app", "tier")
VALUES = ("a", "b", "c")
REQUIREMENTS = st.builds(
    selectors.Requirement,
    st.sampled_from(KEYS),
    st.sampled_from(tuple(selectors.LabelOperator)),
    st.frozensets(st.sampled_from((*VALUES, "1")), max_size=3),
)
SELECTORS = st.builds(
    selectors.Selector, st.lists(REQUIREMENTS, max_size=3).map(tuple), st.booleans()
)
LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from((*VALUES, "2")))


@given(st.lists(SELECTORS, max_size=8), st.sets(st.integers(0, 7)), LABELS)
def test_whatever_a_pod_meets_is_a_candidate_once(
    conditions: list[selectors.Selector], gone: set[int], labels: dict[str, str]
) -> None:
    """Those that are kept and select the labels are found, none twice, and none that is gone."""
    kept = count_columns_by_label.CountColumnsByRequiredLabel[selectors.Selector]()
    columns = [count_column.CountColumn() for _ in conditions]
    for column, condition in zip(columns, conditions, strict=True):
        kept.add(column, condition, condition)
    for number in gone & set(range(len(columns))):
        kept.remove(columns[number])
    found = list(kept.find_candidate_columns(labels))
    left = {c: s for n, (c, s) in enumerate(zip(columns, conditions, strict=True)) if n not in gone}
    assert len(dict(found)) == len(found)
    assert dict(found).items() <= left.items()
    assert {c for c, s in left.items() if s.matches(labels)} <= dict(found).keys()


def test_what_requires_another_label_is_not_looked_at() -> None:
    """A condition is filed under the label that the fewest others require."""
    kept = count_columns_by_label.CountColumnsByRequiredLabel[str]()
    column = count_column.CountColumn
    kept.add(column(), "web", selectors.from_match_labels({"app": "web", "env": "prod"}))
    kept.add(column(), "db", selectors.from_match_labels({"app": "db", "env": "prod"}))
    kept.add(column(), "any", selectors.EVERYTHING)
    kept.add(column(), "prod", selectors.from_match_labels({"env": "prod"}))
    kept.add(column(), "both", selectors.from_match_labels({"env": "prod", "job": "x"}))
    found = [
        condition for _, condition in kept.find_candidate_columns({"app": "web", "env": "prod"})
    ]
    assert found == ["any", "web", "prod"]


@given(
    st.lists(LABELS, max_size=8),
    st.lists(LABELS, max_size=4),
    st.sets(st.integers(0, 11)),
    st.lists(SELECTORS, min_size=1, max_size=4),
)
def test_whatever_a_selector_matches_is_a_candidate_once(
    early: list[dict[str, str]],
    late: list[dict[str, str]],
    gone: set[int],
    asked: list[selectors.Selector],
) -> None:
    """Shapes are found whether they came before or after the label was first asked for."""
    shapes = pod_shape.PodShapeCache()
    placed = placed_shapes.PlacedShapes()
    groups: dict[int, placed_shapes.PlacedPodsOfShape] = {}

    def place(labels: dict[str, str]) -> None:
        shape = shapes.make_pod_info(builders.make_pod("p").labels(**labels).build()).shape
        if shape.index not in placed.by_index:
            group = placed_shapes.PlacedPodsOfShape(shape, {}, {}, [], [], [], [])
            groups[shape.index] = group
            placed.add(group)

    for labels in early:
        place(labels)
    for selector in asked:
        list(placed.find_candidates(selector))
    for labels in late:
        place(labels)
    for number, index in enumerate(list(groups)):
        if number in gone:
            placed.remove(groups.pop(index))
    for selector in asked:
        found = [group.shape.index for group in placed.find_candidates(selector)]
        assert len(set(found)) == len(found)
        matching = {i for i, group in groups.items() if selector.matches(group.shape.labels)}
        assert matching <= set(found) <= groups.keys()


def test_shapes_are_found_by_the_rarest_label() -> None:
    """Of two labels that a selector requires, the one counts that fewer shapes have."""
    shapes, placed = pod_shape.PodShapeCache(), placed_shapes.PlacedShapes()
    for tenant in "abc":
        pod = builders.make_pod(tenant).labels(app="web", tenant=tenant).build()
        shape = shapes.make_pod_info(pod).shape
        placed.add(placed_shapes.PlacedPodsOfShape(shape, {}, {}, [], [], [], []))
    selector = selectors.from_match_labels({"app": "web", "tenant": "b"})
    (found,) = placed.find_candidates(selector)
    assert found.shape.labels["tenant"] == "b"


@given(LABELS)
def test_terms_that_act_on_a_pod_are_those_of_a_walk(labels: dict[str, str]) -> None:
    """Asked for by label or one by one, the same terms of placed pods mean a pod."""
    terms = [builders.pod_term(key, {key: v}) for key in KEYS for v in VALUES]
    placed = [
        builders.make_pod(f"p{n}").rejects_pods(term).node("n1") for n, term in enumerate(terms)
    ]
    made = builders.make_cache([builders.make_node("n1")], placed)
    shape = made.info(builders.make_pod("new").labels(**labels)).shape
    kind = pod_counts.TermKind.REQUIRED_ANTI_AFFINITY
    counts = made.cache.counts
    walked = {
        owned.term
        for owned in counts.get_term_owner_counts(kind)
        if owned.term.matches_incoming_pod(shape.namespace, shape.labels, {})
    }
    assert {
        owned.term for owned, _ in counts.find_terms_matching_incoming_pod(kind, shape)
    } == walked
