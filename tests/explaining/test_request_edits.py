"""A request that brute force finds is offered; rules, taints and nodes are drawn."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policysched.explaining import amount_search
from tests.cli import clusters
from tests.explaining import desk

RULES = [
    "reject when free(R) - requests(R) < LOW",
    "reject when free(R) - requests(R) <= LOW",
    "reject when requests(R) < LOW",
    "reject when requests(R) >= LOW",
    "reject when requests(R) > B * allocatable(R)",
    "reject when requests(R) + requested(R) > 80% * allocatable(R)",
    "reject when free(R) / requests(R) < A missing reject",
    "reject when requests(R) < LOW or (requests(R) > HIGH and free(R) < HIGH)",
    "reject when not (free(R) - 2 * requests(R) >= LOW and requests(R) > HIGH)",
    "reject when max(requests(R), LOW) > free(R) - HIGH",
    "reject when free(R) < LOW",
]
RESOURCES = {"cpu": "", "memory": "Gi", "example.com/gpu": ""}
LARGEST = 12
TAINT = {"key": "dedicated", "value": "", "effect": "NoSchedule"}


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[desk.Object], str, str]:
    """Draw up to three nodes, pods on them, the pod `prod/p`, and up to two rules."""
    resource = draw(st.sampled_from(sorted(RESOURCES)))
    suffix = RESOURCES[resource]
    items = []
    for number in range(draw(st.integers(1, 3))):
        node = clusters.node(f"n{number}", "16")
        node["status"]["allocatable"][resource] = f"{draw(st.integers(2, 10))}{suffix}"
        if draw(st.integers(0, 3)) == 0:
            node["spec"] = {"taints": [TAINT]}
        placed = clusters.pod(f"on-n{number}", cpu="0", on=f"n{number}")
        _request(placed, resource, draw(st.integers(0, 6)))
        items += [node, placed]
    pod = clusters.pod("p", cpu="0")
    _request(pod, resource, draw(st.integers(1, LARGEST)))
    rules = draw(st.lists(st.sampled_from(RULES), max_size=2, unique=True))
    written = []
    for number, rule in enumerate(rules):
        low, high = draw(st.integers(0, 4)), draw(st.integers(1, 6))
        numbers = rule.replace("B *", "50% *").replace("LOW", f"{low}{suffix}")
        numbers = numbers.replace("HIGH", f"{high}{suffix}").replace("< A", f"< {low}")
        quoted = f'"{resource}"' if "/" in resource else resource
        written.append(numbers.replace("(R", f"({quoted}") + f" as rule-{number}")
    body = "".join(f"  {each}\n" for each in written)
    policy = f"version 1\npolicy w {{\n  for pods\n{body}}}\n" if body else ""
    return [*items, pod], policy, resource


def _request(pod: desk.Object, resource: str, amount: int) -> None:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    requests[resource] = f"{amount}{RESOURCES[resource]}"


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(world=worlds())
def test_a_request_that_fits_is_offered(world: Any) -> None:
    """If a whole number as the request of one resource fits, an edit of that request is offered."""
    items, policy, resource = world
    report = desk.study_pod(items, policy)
    if report["feasible"]:
        return
    assert report["triedAll"]
    changed = copy.deepcopy(items)
    fitting = []
    for amount in range(1, LARGEST + 1):
        _request(changed[-1], resource, amount)
        if desk.feasible(changed, policy):
            fitting.append(amount)
    offered = [
        each for each in report["edits"] if each["kind"] == "requests" and resource in each["what"]
    ]
    assert offered or not fitting, (policy, fitting)
    for each in offered:
        assert desk.feasible(desk.edited(items, each, ""), policy) == set(each["nodes"])


@pytest.mark.parametrize(
    "fitting, present, proposals, step, found",
    [
        pytest.param(range(7), 9, [0], 1, 6, id="lower, found by halving"),
        pytest.param(range(7), 9, [0, 6], 1, 6, id="lower, proposed"),
        pytest.param(range(3, 5), 9, [0], 1, None, id="missed without a proposal"),
        pytest.param(range(3, 5), 9, [0, 3], 1, 4, id="an interval"),
        pytest.param(range(20, 30), 9, [25], 1, 20, id="higher"),
        pytest.param(range(8), 95, [0], 10, 7, id="less than a step"),
        pytest.param(range(35), 90, [0], 10, 30, id="multiples of a step"),
        pytest.param(range(0), 9, [0, 5, 20], 1, None, id="nothing"),
    ],
)
def test_the_nearest_amount(
    fitting: range, present: int, proposals: list[int], step: int, found: int | None
) -> None:
    """It fits, and the one a step nearer does not."""
    assert (
        amount_search.find_nearest(lambda each: each in fitting, present, proposals, step) == found
    )
