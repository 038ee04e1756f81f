"""What a policy can say about a pod besides its labels."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pytest

from policysched.cluster.objects import objects
from policysched.compiler.nodes import label_numbers
from policysched.compiler.pods import pod_fields
from policysched.lang.words import glob_patterns
from tests import builders
from tests.reference import policy_selectors


@pytest.mark.parametrize(
    "image, expected",
    [
        ("web", "web"),
        ("web:1.2", "web"),
        ("host:5000/team/web", "host:5000/team/web"),
        ("host:5000/team/web:1.2", "host:5000/team/web"),
        ("host:5000/web:1.2@sha256:0123", "host:5000/web"),
        ("web@sha256:0123", "web"),
    ],
)
def test_repository_of_an_image(image: str, expected: str) -> None:
    """Tag and digest go, the port of the registry stays."""
    assert pod_fields.repository(image) == expected


@hypothesis.given(st.text("ab*", max_size=6), st.text("ab", max_size=8))
def test_wildcards(pattern: str, text: str) -> None:
    """A star stands for any run of characters, as in the shell."""
    assert glob_patterns.matches_pattern(pattern, text) == policy_selectors.image_matches(
        pattern, text
    )


@hypothesis.given(st.text("ab*", max_size=5), st.text("ab*", max_size=5), st.text("ab", max_size=6))
def test_patterns_are_compared(one: str, other: str, text: str) -> None:
    """A pattern that matches another matches its texts; those apart have no common text."""
    matches = glob_patterns.matches_pattern
    if matches(one, text):
        assert matches(other, text) or not matches(other, one)
        assert not (matches(other, text) and glob_patterns.are_apart(one, other))


def test_wildcards_take_no_time() -> None:
    """A pattern of many stars, on which a regular expression would not come back, is answered."""
    assert not glob_patterns.matches_pattern("*a" * 30 + "b", "a" * 250)


def _pod(*resources: tuple[dict[str, str], dict[str, str]]) -> objects.PodSpec:
    containers = tuple(
        objects.Container(
            resources=objects.ResourceRequirements(requests=dict(r), limits=dict(limit))
        )
        for r, limit in resources
    )
    return builders.make_pod("p").spec(containers=containers).build().spec


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param(_pod(({}, {})), "BestEffort", id="nothing"),
        pytest.param(_pod(({"cpu": "0"}, {})), "BestEffort", id="zero"),
        pytest.param(_pod(({"ephemeral-storage": "1Gi"}, {})), "BestEffort", id="other-resource"),
        pytest.param(_pod((BOTH, BOTH)), "Guaranteed", id="equal"),
        pytest.param(
            _pod(({"cpu": "1000m", "memory": "1Gi"}, BOTH)), "Guaranteed", id="equal-in-value"
        ),
        pytest.param(_pod((BOTH, BOTH), ({}, {})), "Burstable", id="one-container-without"),
        pytest.param(_pod((BOTH, {"cpu": "1"})), "Burstable", id="memory-not-limited"),
        pytest.param(_pod(({}, BOTH)), "Burstable", id="limits-only"),
    ],
)
def test_qos_class(spec: objects.PodSpec, expected: str) -> None:
    """Only cpu and memory count, and every container must be limited to what it requests."""
    assert pod_fields.qos_class(spec) == expected


def test_qos_class_by_resources_of_the_pod() -> None:
    """Resources of the pod as a whole stand for those of its containers."""
    whole = objects.ResourceRequirements(requests=dict(BOTH), limits=dict(BOTH))
    spec = builders.make_pod("p").requests(cpu="1").spec(resources=whole).build().spec
    assert pod_fields.qos_class(spec) == "Guaranteed"


@pytest.mark.parametrize(
    "text, expected",
    [("7", 7.0), ("-1", -1.0), ("2.5", 2.5), (".5", 0.5), ("5.", 5.0), ("007", 7.0)]
    + [
        (text, None)
        for text in ("", "1e3", "0x10", "7Gi", "1_000", "nan", "inf", "9" * 400, "\uff11")
    ],
)
def test_labels_as_numbers(text: str, expected: float | None) -> None:
    """Plain decimal numbers only."""
    assert label_numbers.parse_decimal(text) == expected
