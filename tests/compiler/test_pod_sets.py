"""Sets of pods as questions to the counters: what they say beforehand of the pods in them."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import pod_sets, scope
from policysched.lang.checked import checked_selector
from tests.compiler import strategies

COMPARED = strategies.several(strategies.compared_labels, least=1, most=2)
PODS = st.lists(strategies.pods("p"), min_size=2, max_size=6)


@given(strategies.pod_sets(), PODS)
def test_pods_of_a_set_have_the_labels_that_it_requires(
    written: checked_selector.PodSelection, pods: list[objects.Pod]
) -> None:
    """The counters look only at pods with these labels, so none may be left out."""
    _check_required_labels(written, pods)


@given(COMPARED, PODS)
def test_pods_with_a_value_of_another_have_the_labels_that_their_set_requires(
    compared: tuple[checked_selector.ComparedLabel, ...], pods: list[objects.Pod]
) -> None:
    """A label that must differ is not required."""
    every = checked_selector.NamespaceSet((), checked_selector.EVERYTHING)
    _check_required_labels(
        checked_selector.PodSelection("where", None, every, (), (), compared), pods
    )


def _check_required_labels(written: checked_selector.PodSelection, pods: list[objects.Pod]) -> None:
    every_pod = scope.PolicyScope(checked_selector.EVERY_POD)
    counted = pod_sets.PodSet(written, every_pod if written.kind == "self" else None)
    cache = pod_shape.PodShapeCache()
    shapes = [cache.make_pod_info(pod).shape for pod in pods]
    for seer in shapes:
        query = pod_sets.PodsInSet(counted, counted.anchor(seer), counts_terminating=True)
        required = query.selector
        for shape in shapes:
            assert required.matches(shape.labels) or not query.matches(shape, {})
