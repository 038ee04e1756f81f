"""The pods about which a new version decides: shares, replicas, and stages that add up."""

from __future__ import annotations

import math

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.cluster.objects import objects
from policysched.rollout import pod_choice, settings
from tests import builders, examples

WORKLOADS = 10_000


def _pod(workload: int, replica: int = 0, namespace: str = "shop") -> objects.Pod:
    return builders.make_pod(f"w{workload}-{replica}", namespace=namespace).owner(
        "StatefulSet", f"w{workload}"
    ).build()  # fmt: skip


@pytest.mark.parametrize("version_hash", ["3f2a91c0", "ffffffff", ""])
@pytest.mark.parametrize("percent", [0.5, 5.0, 10.0, 50.0, 99.5])
def test_the_share_is_close_to_the_percentage(percent: float, version_hash: str) -> None:
    """Five standard deviations of drawing as many workloads with this probability."""
    chooses = pod_choice.PodChoice([settings.Stage(percent=percent)], version_hash)
    chosen = sum(chooses(_pod(workload)) for workload in range(WORKLOADS))
    share = percent / 100
    allowed = 5 * math.sqrt(WORKLOADS * share * (1 - share))
    assert abs(chosen - WORKLOADS * share) < allowed


def test_replicas_have_one_version() -> None:
    """What a pod is called does not matter, nor which pods were asked about before."""
    chooses = pod_choice.PodChoice([settings.Stage(percent=50)], "abc")
    later = pod_choice.PodChoice([settings.Stage(percent=50)], "abc")
    answers = {
        workload: {chooses(_pod(workload, replica)) for replica in range(5)}
        for workload in range(100)
    }
    assert all(len(answer) == 1 for answer in answers.values())
    assert {True} in answers.values()
    assert {False} in answers.values()
    for workload in reversed(range(100)):
        assert later(_pod(workload)) in answers[workload]


def test_every_version_begins_with_other_workloads() -> None:
    """Otherwise the same workloads would try every version."""
    chosen = [
        {number for number in range(1000) if chooses(_pod(number))}
        for chooses in (
            pod_choice.PodChoice([settings.Stage(percent=10)], version_hash)
            for version_hash in ("abc", "abe")
        )
    ]
    assert 0 < len(chosen[0] & chosen[1]) < 40


def test_more_workloads_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The places of workloads are computed again, and are the same."""
    monkeypatch.setattr(pod_choice, "_WORKLOADS_KEPT", 3)
    chooses = pod_choice.PodChoice([settings.Stage(percent=50)], "abc")
    first = [chooses(_pod(workload)) for workload in range(10)]
    assert [chooses(_pod(workload)) for workload in range(10)] == first
    assert len(chooses._percents) <= 3


@pytest.mark.parametrize(
    "stage, is_chosen",
    [
        (settings.Stage(shadow=True), False),
        (settings.Stage(percent=100), True),
        (settings.Stage(namespaces=("shop", "b")), True),
        (settings.Stage(namespaces=("b",)), False),
        (settings.Stage(match_labels={"tier": "web"}), True),
        (settings.Stage(match_labels={"tier": "db"}), False),
        (settings.Stage(match_labels={"tier": "web", "zone": "a"}), False),
        (settings.Stage(namespaces=("shop",), match_labels={"tier": "web"}, percent=100), True),
        (settings.Stage(namespaces=("b",), match_labels={"tier": "web"}, percent=100), False),
        (settings.Stage(namespaces=("shop",), percent=1e-9), False),
    ],
)
def test_all_conditions_of_a_stage_must_be_met(stage: settings.Stage, is_chosen: bool) -> None:
    """Namespaces, labels and a percentage narrow one another; a shadow stage chooses no pods."""
    pod = builders.make_pod("p", namespace="shop").labels(tier="web").build()
    assert pod_choice.PodChoice([stage], "abc")(pod) is is_chosen


def test_a_percentage_of_a_namespace_counts_its_workloads() -> None:
    """The share is of the workloads there."""
    stage = settings.Stage(namespaces=("shop",), percent=20)
    chooses = pod_choice.PodChoice([stage], "abc")
    assert not any(chooses(_pod(number, namespace="b")) for number in range(1000))
    assert 130 < sum(chooses(_pod(number)) for number in range(1000)) < 270


_STAGES = st.lists(
    st.builds(
        settings.Stage,
        shadow=st.just(False),
        percent=st.none() | st.floats(min_value=0.001, max_value=100),
        namespaces=st.sets(st.sampled_from(["a", "b", "c"])).map(tuple),
        match_labels=st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["1", "2"])),
    ),
    min_size=1,
    max_size=5,
)


@hypothesis.settings(max_examples=examples.scale(100), deadline=None)
@given(stages=_STAGES, shadows=st.integers(0, 2), version_hash=st.text("0123456789abcdef"))
def test_a_pod_stays_with_the_new_version(
    stages: list[settings.Stage], shadows: int, version_hash: str
) -> None:
    """Whatever the stages are: who was chosen in one is chosen in all later ones."""
    all_stages = [settings.Stage(shadow=True)] * shadows + stages
    pods = [
        builders.make_pod(f"p{number}", namespace=namespace).labels(k=value).build()
        for number in range(4)
        for namespace in ("a", "b")
        for value in ("1", "2")
    ]
    chosen: set[str] = set()
    for count in range(len(all_stages) + 1):
        chooses = pod_choice.PodChoice(all_stages[:count], version_hash)
        now = {pod.metadata.uid for pod in pods if chooses(pod)}
        assert chosen <= now
        assert count > shadows or not now
        chosen = now


def test_places_depend_on_nothing_but_the_arguments() -> None:
    """Another leader, and another process, choose the same pods; these are the places for ever."""
    assert pod_choice.compute_workload_percent("shop/Deployment/web", "abc") == pytest.approx(
        94.0378332
    )
    assert pod_choice.compute_workload_percent("shop/Deployment/web", "abe") == pytest.approx(
        85.7368311
    )
