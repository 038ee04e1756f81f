"""Plans of generated policies and clusters, held to `simulate` and to plans without a cause."""

from __future__ import annotations

import datetime
import json
from typing import Any

import hypothesis
from hypothesis import strategies

from policysched.inputs import cluster_file
from policysched.lang import source
from policysched.offline import sessions
from policysched.planning import (
    changes,
    metric_keys,
    plan_making,
    plan_report,
    sides,
    two_sided_cluster,
)
from policysched.profiles import policies
from tests import examples
from tests.cli import clusters

_NOW = datetime.datetime(2026, 3, 2, 10, tzinfo=datetime.UTC)
_RULES = {
    "ssd": "nodeAffinity required disktype = ssd",
    "zone": "nodeAffinity required zone In (x, y)",
    "east": "nodeAffinity preferred zone = x weight {}",
    "full": "reject when free(cpu) < {}00m",
    "room": "score free(cpu) prefer high normalize linear(0, 8) missing score 0 weight {}",
    "pack": "score MostAllocated(cpu: 1) weight {}",
    "apart": "podAntiAffinity required self topologyKey zone",
    "own": "tolerate dedicated=web:NoSchedule",
    "spread": "topologySpread self topologyKey zone maxSkew 1 whenUnsatisfiable DoNotSchedule",
}
_SCOPES = ("for pods", "for pods where app = web", "for pods where app = batch")

_rules = strategies.dictionaries(
    strategies.sampled_from(sorted(_RULES)), strategies.integers(1, 40), max_size=4
)
_policy_sets = strategies.dictionaries(
    strategies.sampled_from(("one", "two")),
    strategies.tuples(strategies.sampled_from(_SCOPES), _rules),
    max_size=2,
)


@strategies.composite
def _clusters(draw: strategies.DrawFn) -> list[clusters.Object]:
    items: list[clusters.Object] = []
    names = [f"n{number}" for number in range(draw(strategies.integers(1, 4)))]
    for name in names:
        node = clusters.node(
            name,
            cpu=draw(strategies.sampled_from(("2", "4"))),
            disktype=draw(strategies.sampled_from(("ssd", "hdd"))),
            zone=draw(strategies.sampled_from(("x", "y", "z"))),
        )
        if draw(strategies.booleans()):
            node["spec"]["taints"] = [{"key": "dedicated", "value": "web", "effect": "NoSchedule"}]
        items.append(node)
    for number in range(draw(strategies.integers(0, 6))):
        on = draw(strategies.sampled_from((None, *names)))
        cpu, priority = strategies.sampled_from(("1", "2")), strategies.sampled_from((0, 1000))
        pod = clusters.pod(f"p{number}", cpu=draw(cpu), on=on, priority=draw(priority))
        pod["metadata"]["labels"] = {"app": draw(strategies.sampled_from(("web", "batch")))}
        items.append(pod)
    return items


_Policies = dict[str, tuple[str, dict[str, int]]]


def _side(written: _Policies) -> sides.PlanSide:
    texts = ["version 1"]
    for name, (scope, rules) in written.items():
        lines = [f"  {_RULES[rule].format(number)} as {rule}" for rule, number in rules.items()]
        texts.append("\n".join([f"policy {name} {{", f"  {scope}", *lines, "}"]))
    text = source.SourceText("a.policy", "\n".join(texts) + "\n")
    return sides.PlanSide("side", policies.make_policy_set_from_texts([text], {}, now=_NOW))


def _objects(items: list[clusters.Object]) -> cluster_file.ClusterObjects:
    return cluster_file.parse_cluster(json.dumps(clusters.list_of(*items)).encode(), "cluster.json")


def _plan(
    old: sides.PlanSide, new: sides.PlanSide, items: list[clusters.Object]
) -> tuple[plan_making.PolicyChangePlan, dict[str, Any]]:
    apart = metric_keys.separate_metric_keys(old.policies, new.policies)
    basis = two_sided_cluster.PlanInputs(sides.PlanSide("old", apart), new, _NOW)
    plan = plan_making.make_policy_change_plan(
        basis, _objects(items), "cluster", lambda _what, _size: lambda _n: None
    )
    return plan, plan_report.as_json(plan, basis, "cluster")


_PHASES = (hypothesis.Phase.explicit, hypothesis.Phase.reuse, hypothesis.Phase.generate)
"""Plans take too long for shrinking to be worth it: the clusters are small already."""
_generated = hypothesis.settings(max_examples=examples.scale(20), deadline=None, phases=_PHASES)


@_generated
@hypothesis.given(_policy_sets, _clusters())
def test_a_plan_from_policies_to_the_same_ones_is_empty(
    written: _Policies, items: list[clusters.Object]
) -> None:
    """Nothing differs, and there is no edit."""
    _, told = _plan(_side(written), _side(dict(reversed(written.items()))), items)
    assert (told["changes"], told["edits"], told["rejects"]) == ([], [], [])


@_generated
@hypothesis.given(_policy_sets, _policy_sets, _clusters())
def test_both_sides_of_a_plan_are_what_simulate_says(
    before: _Policies, after: _Policies, items: list[clusters.Object]
) -> None:
    """Pending pods go where `simulate` puts them; a plan may only choose among equal nodes."""
    old, new = _side(before), _side(after)
    plan, _ = _plan(old, new, items)
    different = {each.pod: each for each in plan.found.pods}
    simulated = {each.pod: each for each in _decider(old, items).simulate_placements()}
    for pod, placement in simulated.items():
        if pod in different:
            assert different[pod].old.node == placement.node
    first = next(iter(_decider(new, items).simulate_placements()), None)
    if first is not None and not first.victims:
        said = different.get(first.pod)
        node = said.new.node if said else simulated[first.pod].node
        assert node in first.best if first.best else node is None


@_generated
@hypothesis.given(_policy_sets, _policy_sets, _clusters())
def test_a_running_pod_goes_where_it_goes_alone(
    before: _Policies, after: _Policies, items: list[clusters.Object]
) -> None:
    """Its fate on each side is that of a cluster file in which it waits and nothing else does."""
    old, new = _side(before), _side(after)
    plan, _ = _plan(old, new, items)
    different = {each.pod: each for each in plan.found.pods}
    for item in items:
        if item["kind"] != "Pod" or "nodeName" not in item["spec"]:
            continue
        alone = [_alone(each, item) for each in items if each is item or not _is_pending(each)]
        key = f"prod/{item['metadata']['name']}"
        best = [_decider(side, alone).explain_pod(key)["best"] for side in (old, new)]
        said = different.get(key)
        if said is None:
            shared = set(best[0]) & set(best[1])
            assert shared or best == [[], []]
        else:
            assert said.old.node in (best[0] or [None])
            assert said.new.node in (best[1] or [None])


@_generated
@hypothesis.given(_policy_sets, _policy_sets, _clusters())
def test_without_its_cause_a_running_pod_stays(
    before: _Policies, after: _Policies, items: list[clusters.Object]
) -> None:
    """The plan to the new policies without the one rule that is named has the old outcome."""
    old, new = _side(before), _side(after)
    plan, _ = _plan(old, new, items)
    for change in plan.found.pods:
        cause = change.cause
        if change.phase is changes.PlannedPodPhase.PENDING or cause is None:
            continue
        assert cause.kind not in (changes.CauseKind.EARLIER_PODS, changes.CauseKind.UNKNOWN)
        assert len(cause.edits) > (cause.kind is not changes.CauseKind.EDIT)
        if cause.kind is changes.CauseKind.EDIT and cause.edits[0].kind == "rule":
            reverted = _reverted(before, after, cause.edits[0].name)
            again, _ = _plan(old, _side(reverted), items)
            still = {each.pod: each for each in again.found.pods}.get(change.pod)
            assert still is None or still.outcome is not change.outcome


@_generated
@hypothesis.given(_policy_sets, _policy_sets, _clusters())
def test_without_its_cause_a_pending_pod_ends_otherwise(
    before: _Policies, after: _Policies, items: list[clusters.Object]
) -> None:
    """Edits are the cause if one pod waits, also where it gets its node by preemption or not."""
    waiting = clusters.pod("waiting", cpu="2", priority=500)
    items = [*(each for each in items if not _is_pending(each)), waiting]
    plan, _ = _plan(_side(before), _side(after), items)
    change = next((each for each in plan.found.pods if each.pod == "prod/waiting"), None)
    if change is None or change.cause is None:
        return
    assert change.cause.kind not in (changes.CauseKind.EARLIER_PODS, changes.CauseKind.UNKNOWN)
    if change.cause.kind is changes.CauseKind.EDIT and change.cause.edits[0].kind == "rule":
        reverted = _side(_reverted(before, after, change.cause.edits[0].name))
        again, _ = _plan(_side(before), reverted, items)
        still = {each.pod: each.outcome for each in again.found.pods}.get(change.pod)
        assert still is not change.outcome


def _reverted(before: _Policies, after: _Policies, name: str) -> _Policies:
    """Return the new policies, one rule as in the old ones."""
    policy, _, rule = name.partition("/")
    scope, rules = after.get(policy) or (before[policy][0], {})
    rules = {each: number for each, number in rules.items() if each != rule}
    if policy in before and rule in before[policy][1]:
        rules[rule] = before[policy][1][rule]
    return {**after, policy: (scope, rules)}


def _alone(each: clusters.Object, pod: clusters.Object) -> clusters.Object:
    if each is not pod:
        return each
    spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
    return {**pod, "spec": spec}


def _is_pending(item: clusters.Object) -> bool:
    return item["kind"] == "Pod" and "nodeName" not in item["spec"]


def _decider(side: sides.PlanSide, items: list[clusters.Object]) -> sessions.PodDecider:
    return sessions.DeciderFactory(side.policies, _NOW).make_decider(_objects(items), "cluster")
