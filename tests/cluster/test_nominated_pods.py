"""Bookkeeping of nominated pods."""

from __future__ import annotations

import pytest

from policysched.cluster.pods import nominated_pods
from tests import builders
from tests.queue import fakes

PLAIN = builders.make_pod("a")


def test_a_pod_is_nominated_to_one_node_at_a_time() -> None:
    """A new nomination takes the place of the old one, an empty one takes it back."""
    nominated = nominated_pods.NominatedPods()
    pod = fakes.info(PLAIN)
    nominated.nominate(pod, "n1")
    nominated.nominate(pod, "n2")
    assert (nominated.get_nominated_node(pod.uid), nominated.get_nominated_pods("n1")) == ("n2", [])
    assert nominated.get_nominated_pods("n2") == [pod]
    nominated.nominate(pod, "")
    assert (nominated.get_nominated_node(pod.uid), nominated.get_nominated_pods("n2")) == (None, [])


@pytest.mark.parametrize(
    "old, new, expected",
    [
        pytest.param(PLAIN, PLAIN.labels(x="y"), "n1", id="unrelated update keeps it"),
        pytest.param(PLAIN, PLAIN.nominated("n2"), "n2", id="new nomination wins"),
        pytest.param(PLAIN.nominated("n1"), PLAIN, None, id="taken back"),
        pytest.param(PLAIN.nominated("n1"), PLAIN.nominated("n1"), "n1", id="confirmed"),
    ],
)
def test_update(old: builders.PodBuilder, new: builders.PodBuilder, expected: str | None) -> None:
    """A nomination that the API server has not shown yet outlives other updates."""
    nominated = nominated_pods.NominatedPods()
    nominated.nominate(fakes.info(old), "n1")
    nominated.update_nominated_pod(fakes.info(old), fakes.info(new))
    assert nominated.get_nominated_node(fakes.uid("a")) == expected
