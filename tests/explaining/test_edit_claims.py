"""What is claimed holds: edits are made by hand on random clusters, and decided anew."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policysched import quantity
from tests import examples
from tests.cli import clusters
from tests.explaining import desk

TAINTS = st.lists(
    st.sampled_from(
        [
            {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
            {"key": "dedicated", "value": "db", "effect": "NoExecute"},
            {"key": "soft", "value": "", "effect": "PreferNoSchedule"},
        ]
    ),
    max_size=2,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
LABELS = st.fixed_dictionaries(
    {},
    optional={
        "disk": st.sampled_from(["ssd", "hdd"]),
        "gpu-mem-gb": st.sampled_from(["40", "80"]),
        "zone": st.sampled_from(["a", "b"]),
    },
)
SELECTORS = st.dictionaries(
    st.sampled_from(["disk", "gpu-memory-gb", "gpu-mem-gb"]),
    st.sampled_from(["ssd", "sdd", "80"]),
    max_size=2,
)
POLICIES = st.sampled_from(
    [
        "",
        "reject when busy > 50% missing reject as hot",
        "reject when free(cpu) < 1500m as full",
        "reject when free(cpu) < 50% * allocatable(cpu) as part",
        "reject when free(cpu) - requests(cpu) < 500m as spare",
        "reject when free(memory) < 2 * requests(memory) as half",
        "reject when not (free(memory) >= 3Gi) as small",
        "reject when pod(requests(cpu) > 500m) as wide",
        "reject when floor(requests(cpu)) < requests(cpu) as whole",
        "reject when pod(tier != gold) or node(disk = hdd) as tier",
        "reject when node(disk = hdd) as slow",
        "reject when not node(disk Exists) as any",
        "reject when node(tainted(soft)) as soft",
        "nodeAffinity required disk In (ssd) as fast",
        "nodeAffinity required disk NotIn (hdd) as slow",
        "topologySpread self topologyKey zone maxSkew 1 as even",
    ]
)
BUSY = st.dictionaries(
    st.sampled_from(["n0", "n1", "n2"]), st.sampled_from([0.2, 0.512, 0.6, 0.999]), max_size=3
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[desk.Object], str, dict[str, dict[str, float]]]:
    """Draw up to three nodes, a pod on each, the pod `prod/p`, a policy and its metric."""
    items = []
    for number in range(draw(st.integers(1, 3))):
        name = f"n{number}"
        node = clusters.node(name, draw(st.sampled_from(["1", "2", "4"])), **draw(LABELS))
        node["spec"] = {"taints": draw(TAINTS), "unschedulable": draw(st.booleans())}
        if draw(st.booleans()):
            node["spec"] = {}
        placed = clusters.pod(f"on-{name}", cpu=draw(st.sampled_from(["500m", "950m"])), on=name)
        _request(placed, "memory", draw(st.sampled_from(["1Gi", "7Gi", "8100Mi"])))
        _port(placed, draw(st.booleans()))
        items += [node, placed]
    pod = clusters.pod("p", cpu=draw(st.sampled_from(["100m", "1", "3500m"])))
    _request(pod, "memory", draw(st.sampled_from(["64Mi", "1Gi", "6Gi"])))
    _port(pod, draw(st.booleans()))
    pod["spec"]["nodeSelector"] = draw(SELECTORS)
    if draw(st.booleans()):
        pod["spec"]["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    rule = draw(POLICIES)
    policy = rule and (
        "version 1\nmetric busy: ratio = `b` node instance\n"
        f"policy w {{\n  for pods\n  {rule}\n}}\n"
    )
    return [*items, pod], policy, {"busy": draw(BUSY)} if policy else {}


def _request(pod: desk.Object, resource: str, amount: str) -> None:
    pod["spec"]["containers"][0]["resources"]["requests"][resource] = amount


def _port(pod: desk.Object, wanted: bool) -> None:
    if wanted:
        pod["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]


@settings(
    max_examples=examples.scale(40), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(world=worlds())
def test_each_edit_lets_the_pod_fit_where_it_is_said(world: Any) -> None:
    """Made by hand, on a cluster of its own, it does; and one step less does not."""
    items, policy, metrics = world
    report = desk.study_pod(items, policy, metrics)
    if report["feasible"]:
        assert "edits" not in report
        return
    assert report["triedAll"]
    for edit in report["edits"]:
        match edit["target"], edit["kind"]:
            case "policy", "rule":
                assert desk.feasible(items, "", {}) == set(edit["nodes"])
            case "policy", _:
                changed = _with_rule(policy, edit)
                assert desk.feasible(items, changed, metrics) == set(edit["nodes"])
            case "pod", _:
                changed_items = desk.edited(items, edit, "")
                assert desk.feasible(changed_items, policy, metrics) == set(edit["nodes"])
            case "node", "free":
                for node in edit["nodes"]:
                    assert node in desk.feasible(_freed(items, edit, node), policy, metrics)
            case _:
                for node in edit["nodes"]:
                    changed_items = desk.edited(items, edit, node)
                    assert node in desk.feasible(changed_items, policy, metrics)
        _one_step_less(items, policy, metrics, edit)


@settings(
    max_examples=examples.scale(40), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(world=worlds())
def test_each_pod_that_has_the_port_is_offered(world: Any) -> None:
    """Every pod without which the pod fits, if both want the same port."""
    items, policy, metrics = world
    report = desk.study_pod(items, policy, metrics)
    offered = {each["from"] for each in report.get("edits", ()) if each["kind"] == "pod"}
    pod = items[-1]
    for placed in items[:-1]:
        container = placed["spec"].get("containers", [{}])[0]
        if not container.get("ports") or not pod["spec"]["containers"][0].get("ports"):
            continue
        others = [each for each in items if each is not placed]
        gained = desk.feasible(others, policy, metrics) - desk.feasible(items, policy, metrics)
        is_missed = f"prod/{placed['metadata']['name']}" not in offered
        assert report["feasible"] or not (gained and is_missed)


@settings(
    max_examples=examples.scale(40), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(world=worlds())
def test_each_taint_and_label_in_the_way_is_offered(world: Any) -> None:
    """Every taint, and the label `disk`, without which a node takes the pod."""
    items, policy, metrics = world
    report = desk.study_pod(items, policy, metrics)
    if report["feasible"]:
        return
    of_nodes = [each for each in report["edits"] if each["target"] == "node"]
    for node in (each for each in items if each["kind"] == "Node"):
        name = node["metadata"]["name"]
        offered = {each["from"] for each in of_nodes if name in each["nodes"]}
        for written, changed in _without_one(node):
            others = [changed if each is node else each for each in items]
            if name in desk.feasible(others, policy, metrics):
                assert written in offered


def _without_one(node: desk.Object) -> Iterator[tuple[str, desk.Object]]:
    """Yield a node without one of its taints, or without the label `disk`."""
    for taint in node["spec"].get("taints", ()):
        changed = copy.deepcopy(node)
        changed["spec"]["taints"].remove(taint)
        value = f"={taint['value']}" if taint["value"] else ""
        yield f"{taint['key']}{value}:{taint['effect']}", changed
    if "disk" in node["metadata"]["labels"]:
        changed = copy.deepcopy(node)
        value = changed["metadata"]["labels"].pop("disk")
        yield f"disk={value}", changed


def _with_rule(policy: str, edit: desk.Report, to: str | None = None) -> str:
    """Return the policy's text with an edit of its rule made by hand."""
    match edit["kind"]:
        case "threshold":
            value = edit["to"] if to is None else to
            changed = re.sub(r"([<>]=?) (50%|1500m|500m|3Gi)", rf"\1 {value}", policy)
        case "topologySpread":
            place, _, after = edit["text"].partition(": ")[2].partition(" from ")
            assert after
            value = edit["to"] if to is None else to
            kept = "" if place == "maxSkew" else "maxSkew 1 "
            changed = policy.replace("maxSkew 1", f"{kept}{place} {value}")
        case _:
            assert edit["kind"] == "selector"
            changed = policy.replace("(ssd)", f"(ssd, {edit['to']})")
    assert changed != policy
    return changed


def _freed(items: list[desk.Object], edit: desk.Report, node: str) -> list[desk.Object]:
    """Return the cluster in which the pod of a node requests less."""
    several = copy.deepcopy(items)
    (placed,) = (each for each in several if each["metadata"]["name"] == f"on-{node}")
    resource = edit["what"]
    requests = placed["spec"]["containers"][0]["resources"]["requests"]
    left = quantity.parse_milli_units(requests[resource]) - quantity.parse_milli_units(edit["to"])
    requests[resource] = f"{left}m"
    return several


def _one_step_less(items: Any, policy: str, metrics: Any, edit: desk.Report) -> None:
    """Check that of an edit that is a number no smaller one is enough."""
    match edit["target"], edit["kind"]:
        case "pod", "requests" if "cpu" in edit["what"]:
            present, found = (quantity.parse_milli_units(edit[key]) for key in ("from", "to"))
            more = f"{found + (1 if found < present else -1)}m"
            assert not desk.feasible(desk.edited(items, edit, "", more), policy, metrics)
        case "pod", "requests":
            more = str(quantity.parse_whole_units(edit["to"]) + 1024 * 1024)
            assert not desk.feasible(desk.edited(items, edit, "", more), policy, metrics)
        case "pod", "topologySpread" if edit["text"].startswith("maxSkew"):
            less = str(int(edit["to"]) - 1)
            assert not desk.feasible(desk.edited(items, edit, "", less), policy, metrics)
        case "policy", "topologySpread":
            if ": maxSkew" in edit["text"]:
                less = str(int(edit["to"]) - 1)
                assert not desk.feasible(items, _with_rule(policy, edit, less), metrics)
        case "node", "free":
            smaller = {**edit, "to": f"{quantity.parse_milli_units(edit['to']) - 1}m"}
            node = edit["nodes"][0]
            assert node not in desk.feasible(_freed(items, smaller, node), policy, metrics)
        case "policy", "threshold" if edit["to"].endswith("%"):
            before, after = (float(edit[key].rstrip("%")) for key in ("from", "to"))
            nearer = f"{after + math.copysign(0.1, before - after):.9g}%"
            assert not desk.feasible(items, _with_rule(policy, edit, nearer), metrics)
        case _:
            pass
