"""A request that brute force finds is offered; rules, taints and nodes are drawn."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policysched import quantity
from policysched.explaining.numbers import amount_search
from tests import examples
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
    "reject when pod(requests(R) > LOW)",
    "reject when pod(requests(R) < LOW or requests(R) > HIGH)",
    "reject when floor(number(requests(R)) / N) < number(requests(R)) / N missing allow",
    "reject when number(free(R)) / number(requests(R)) < A missing allow",
]
SCOPES = ["", "", "where requests(R) > HIGH"]
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
        numbers = numbers.replace("/ N", f"/ {2 * (1024**3 if suffix else 1)}")
        written.append(_named(numbers, resource) + f" as rule-{number}")
    body = "".join(f"  {each}\n" for each in written)
    scope = draw(st.sampled_from(SCOPES)).replace("HIGH", f"{draw(st.integers(1, 6))}{suffix}")
    for_pods = f"for pods {_named(scope, resource)}".rstrip()
    policy = f"version 1\npolicy w {{\n  {for_pods}\n{body}}}\n" if body else ""
    return [*items, pod], policy, resource


def _named(text: str, resource: str) -> str:
    return text.replace("(R", f'("{resource}"' if "/" in resource else f"({resource}")


def _request(pod: desk.Object, resource: str, amount: int) -> None:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    requests[resource] = f"{amount}{RESOURCES[resource]}"


@settings(
    max_examples=examples.scale(80), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
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
        present, found = (float(quantity.parse_quantity(each[key])) for key in ("from", "to"))
        scale = 1024**3 if RESOURCES[resource] else 1
        nearest = min(abs(amount * scale - present) for amount in fitting or [0])
        assert abs(found - present) <= nearest, (policy, fitting, each)


def _resized(resources: desk.Object, cpu: str, memory: str = "1Gi") -> desk.Object:
    pod = clusters.pod("p", cpu)
    pod["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": cpu, "memory": memory},
        **resources,
    }
    return pod


def _second(pod: desk.Object, cpu: str) -> desk.Object:
    container = {**copy.deepcopy(pod["spec"]["containers"][0]), "name": "d"}
    container["resources"]["requests"]["cpu"] = cpu
    pod["spec"]["containers"].append(container)
    return pod


PER_CORE = "reject when number(requests(memory)) / number(requests(cpu)) > 4000000000"
NEAREST = [
    pytest.param(
        [clusters.node("n1", "4"), clusters.node("n2", "8"), clusters.pod("p", "9")],
        "for pods reject when pod(requests(cpu) > 2)",
        ["lower the cpu request of container c from 9 to 2"],
        id="a number of `pod`",
    ),
    pytest.param(
        [clusters.node("n1", "8"), clusters.pod("p", "5")],
        "for pods where requests(cpu) > 4 reject when node(nodeName = n1)",
        ["lower the cpu request of container c from 5 to 4"],
        id="a number of the policy's scope",
    ),
    pytest.param(
        [clusters.node("n1", "8"), clusters.pod("p", "2500m")],
        "for pods reject when floor(requests(cpu)) < requests(cpu)",
        ["lower the cpu request of container c from 2.5 to 2"],
        id="a condition that holds again and again",
    ),
    pytest.param(
        [clusters.node("n1", "3"), clusters.pod("p", "4")],
        "for pods reject when floor(requests(cpu) / 2) < requests(cpu) / 2",
        ["lower the cpu request of container c from 4 to 2"],
        id="a rule that rejects only amounts in between",
    ),
    pytest.param(
        [clusters.node("n1", "8"), _resized({}, "1", "6144Mi")],
        "for pods reject when requests(memory) > 4Gi",
        ["lower the memory request of container c from 6Gi to 4Gi"],
        id="both amounts in one unit",
    ),
    pytest.param(
        [clusters.node("n1", "8"), _resized({}, "1", "6Gi")],
        f"for pods {PER_CORE} missing allow",
        [
            "lower the memory request of container c from 6Gi to 3814Mi",
            "raise the cpu request of container c from 1 to 1611m",
        ],
        id="a higher request is nearer than none",
    ),
    pytest.param(
        [clusters.node("n1", "8"), _resized({"limits": {"memory": "8Gi"}}, "1")],
        "for pods reject when limits(memory) > 4Gi missing reject",
        ["lower the memory limit of container c from 8Gi to 4Gi"],
        id="a limit",
    ),
    pytest.param(
        [clusters.node("n1", "8"), _resized({}, "1")],
        "for pods reject when limits(memory) > 4Gi missing reject",
        ["set the memory limit of container c to 4Gi"],
        id="a limit that is missing",
    ),
    pytest.param(
        [clusters.node("n1", "8"), _resized({"limits": {"memory": "8Gi"}}, "1")],
        "for pods reject when pod(limits(memory) > 4Gi)",
        ["lower the memory limit of container c from 8Gi to 4Gi"],
        id="a limit of `pod`",
    ),
    pytest.param(
        [clusters.node("n1", "5"), _second(clusters.pod("p", "4"), "3")],
        "",
        [
            "lower the cpu request of container c from 4 to 2",
            "lower the cpu request of container d from 3 to 1",
        ],
        id="each of two containers",
    ),
]


@pytest.mark.parametrize("items, body, expected", NEAREST)
def test_the_nearest_request_or_limit(
    items: list[desk.Object], body: str, expected: list[str]
) -> None:
    """Requests and limits that rules read in any form are offered, the nearest ones."""
    policy = body and f"version 1\npolicy w {{ {body} }}\n"
    report = desk.study_pod(items, policy)
    assert report["triedAll"]
    offered = [e["text"] for e in report["edits"] if e["kind"] in ("requests", "limits")]
    assert offered == expected


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
        amount_search.find_nearest_fitting_amount(
            lambda each: each in fitting, present, proposals, step
        )
        == found
    )
